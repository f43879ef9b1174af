#include "engine/cache/strategies/paged.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/support/counted.h"

namespace decodescope {
namespace {

constexpr int kLargestLog2Page = 8;
constexpr std::int64_t kMostPages = std::int64_t{1} << 24;

}  // namespace

PagedStrategy::PagedStrategy(std::shared_ptr<PagePool> pool, const Options& options)
    : pool_(std::move(pool)),
      options_(options),
      first_pages_(std::max<std::int64_t>(pool_->pages(), 1)),
      sequence_(pool_->next_sequence()) {
    DS_CHECK(pool_->page_tokens() == page_tokens());
}

PagedStrategy::PagedStrategy(const PagedStrategy& other) = default;

PagedStrategy::~PagedStrategy() {
    release();
    keep_pages(0);
}

std::unique_ptr<CacheStrategy> PagedStrategy::clone() const {
    DS_CHECK(held_.empty());
    std::unique_ptr<PagedStrategy> copy(new PagedStrategy(*this));
    copy->sequence_ = pool_->next_sequence();
    for (const std::int32_t page : copy->table_) pool_->share(page, copy->sequence_);
    return copy;
}

Result<CachePlan> PagedStrategy::plan(std::int64_t new_tokens) const {
    DS_RETURN_IF_ERROR(check_new_tokens(new_tokens, seen_));
    CachePlan plan;
    plan.revision = revision_;
    plan.new_tokens = new_tokens;
    plan.first_position = static_cast<std::int32_t>(seen_);
    plan.stored_after = seen_ + new_tokens;
    plan.entries = entries();
    plan.entries.count = static_cast<std::int32_t>(plan.stored_after);
    plan.visibility = causal_visibility(seen_, new_tokens);
    const std::int64_t page = page_tokens(), within = seen_ & (page - 1);
    const bool copies = within > 0 && pool_->owners(table_.back()) > 1;
    const std::int64_t added = ((plan.stored_after + page - 1) >> options_.log2_page) -
                               static_cast<std::int64_t>(table_.size());
    DS_RETURN_IF_ERROR(room_for(plan, added + (copies ? 1 : 0)));
    auto fresh = plan.fresh_pages.begin();
    if (copies) {
        plan.copies.push_back({std::int64_t{table_.back()} * page, std::int64_t{*fresh} * page, within});
        plan.entries.pages.back() = *fresh++;
    }
    plan.entries.pages.insert(plan.entries.pages.end(), fresh, plan.fresh_pages.end());
    for (std::int64_t r = seen_; r < plan.stored_after; ++r) {
        plan.store_slots.push_back(plan.entries.slot(static_cast<std::int32_t>(r)));
        plan.row_entries.push_back(static_cast<std::int32_t>(r + 1));
    }
    return plan;
}

// The pages that the plan takes, beyond those of the pool where it may grow.
Status PagedStrategy::room_for(CachePlan& plan, std::int64_t pages) const {
    std::int64_t total = pool_->pages();
    const std::int64_t missing = pages - pool_->free_pages();
    if (missing > 0 && options_.may_grow) total += (missing + first_pages_ - 1) / first_pages_ * first_pages_;
    if (missing > 0 && (!options_.may_grow || total > kMostPages)) {
        return make_error(ErrorKind::Capacity,
                          fmt::format("{} {} {} of {} and {} of {} {} free.", counted(plan.new_tokens, "more token"),
                                      plan.new_tokens == 1 ? "needs" : "need", counted(pages, "page"),
                                      counted(page_tokens(), "token"), pool_->free_pages(), pool_->pages(),
                                      pool_->free_pages() == 1 ? "is" : "are"),
                          "Choose more pages, or end another conversation.");
    }
    plan.fresh_pages = pool_->peek(pages);
    for (std::int64_t page = pool_->pages(); static_cast<std::int64_t>(plan.fresh_pages.size()) < pages; ++page)
        plan.fresh_pages.push_back(static_cast<std::int32_t>(page));
    plan.capacity_before = capacity();
    plan.capacity_after = total << options_.log2_page;
    if (plan.capacity_before > 0) plan.moves.push_back({0, 0, plan.capacity_before});
    return {};
}

void PagedStrategy::begin_write(const CachePlan& plan) {
    DS_CHECK(plan.revision == revision_);
    for (const std::int32_t page : plan.fresh_pages) {
        if (page < pool_->pages()) pool_->forget(page);
    }
    if (plan.copies.empty() && (seen_ & (page_tokens() - 1)) != 0) pool_->forget(table_.back());
}

void PagedStrategy::hold(const CachePlan& plan) {
    DS_CHECK(plan.revision == revision_ && held_.empty());
    pool_->grow(std::max(pool_->pages(), plan.capacity_after >> options_.log2_page));
    for (const std::int32_t page : plan.fresh_pages) pool_->take(page, sequence_);
    held_ = plan.fresh_pages;
}

void PagedStrategy::release() {
    for (auto page = held_.rbegin(); page != held_.rend(); ++page) pool_->put_back(*page);
    held_.clear();
}

void PagedStrategy::commit(const CachePlan& plan) {
    DS_CHECK(plan.revision == revision_);
    if (held_.empty()) hold(plan);
    held_.clear();
    if (!plan.copies.empty()) pool_->give_back(table_.back(), sequence_);
    table_ = plan.entries.pages;
    seen_ = plan.stored_after;
    ++revision_;
}

void PagedStrategy::name_tokens(std::span<const std::int32_t> tokens) {
    if (!options_.by_content || static_cast<std::int64_t>(tokens_.size() + tokens.size()) != seen_) return;
    tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
    const auto width = static_cast<std::size_t>(page_tokens());
    while ((contents_.size() + 1) * width <= tokens_.size()) {
        const std::size_t page = contents_.size();
        const PageContent before = contents_.empty() ? kNoContent : contents_.back();
        contents_.push_back(pool_->publish(table_[page], before, std::span(tokens_).subspan(page * width, width)));
    }
}

std::int64_t PagedStrategy::take_prefix(std::span<const std::int32_t> tokens) {
    if (!options_.by_content || seen_ > 0 || tokens.empty()) return seen_;
    // Logits come only from a row that is computed: the last token is always left.
    for (const auto& found : pool_->find(tokens.first(tokens.size() - 1))) {
        pool_->share(found.page, sequence_);
        table_.push_back(found.page);
        contents_.push_back(found.content);
    }
    seen_ = static_cast<std::int64_t>(table_.size()) << options_.log2_page;
    tokens_.assign(tokens.begin(), tokens.begin() + static_cast<std::ptrdiff_t>(seen_));
    ++revision_;
    return seen_;
}

// Gives the others back, the last one first.
void PagedStrategy::keep_pages(std::size_t count) {
    while (table_.size() > count) {
        pool_->give_back(table_.back(), sequence_);
        table_.pop_back();
    }
}

Status PagedStrategy::truncate(std::int64_t tokens) {
    DS_RETURN_IF_ERROR(check_truncate(tokens, seen_));
    keep_pages(static_cast<std::size_t>((tokens + page_tokens() - 1) >> options_.log2_page));
    const auto full = static_cast<std::size_t>(tokens >> options_.log2_page);
    contents_.resize(std::min(contents_.size(), full));
    tokens_.resize(std::min(tokens_.size(), static_cast<std::size_t>(tokens)));
    seen_ = tokens;
    ++revision_;
    return {};
}

void PagedStrategy::reset() {
    keep_pages(0);
    contents_.clear();
    tokens_.clear();
    seen_ = 0;
    ++revision_;
}

EntryList PagedStrategy::entries() const {
    EntryList list;
    list.count = static_cast<std::int32_t>(seen_);
    list.pages = table_;
    list.log2_page = options_.log2_page;
    return list;
}

std::optional<std::int64_t> PagedStrategy::slot_of(std::int32_t position) const {
    if (position < 0 || position >= seen_) return std::nullopt;
    const std::int32_t page = table_[static_cast<std::size_t>(position >> options_.log2_page)];
    return (std::int64_t{page} << options_.log2_page) + (position & (page_tokens() - 1));
}

std::vector<PageRun> PagedStrategy::page_states() const { return pool_->states(); }

std::optional<PageCounts> PagedStrategy::page_counts() const {
    PageCounts counts;
    counts.used = static_cast<std::int64_t>(table_.size());
    counts.shared = std::count_if(table_.begin(), table_.end(),
                                  [this](std::int32_t page) { return pool_->owners(page) > 1; });
    counts.free = pool_->free_pages();
    counts.page_tokens = page_tokens();
    return counts;
}

std::vector<SlotMove> PagedStrategy::dead_slots() const {
    std::vector<SlotMove> dead;
    const auto add = [&dead](std::int64_t first, std::int64_t count) { dead.push_back({first, first, count}); };
    for (const std::int32_t page : pool_->free_list()) {
        if (!pool_->findable(page)) add(std::int64_t{page} << options_.log2_page, page_tokens());
    }
    const std::int64_t within = seen_ & (page_tokens() - 1);
    if (within > 0 && pool_->owners(table_.back()) == 1 && !pool_->findable(table_.back()))
        add((std::int64_t{table_.back()} << options_.log2_page) + within, page_tokens() - within);
    return dead;
}

StrategyDescriptor paged_strategy() {
    StrategyDescriptor descriptor;
    descriptor.id = "paged";
    descriptor.title = "Paged";
    descriptor.explanation =
        "The cache is divided into pages that a sequence takes one by one when it needs them. "
        "Branches of a conversation share pages and copy one only when they write into it.";
    std::vector<std::string> page_sizes;  // a choice's value is its index: log2 of the page
    for (int log2 = 0; log2 <= kLargestLog2Page; ++log2) page_sizes.push_back(fmt::format("{}", 1 << log2));
    descriptor.parameters = {
        choice_parameter("page", std::move(page_sizes), 4,
                         "Tokens of one page, a power of two: small pages waste less and share more, large ones need "
                         "fewer entries."),
        integer_parameter("pages", 0, kMostPages, 0,
                          "Pages of the pool; 0 takes what prompt and new tokens need together, at most the model's "
                          "context, and more when branches need them."),
        slab_parameter()};
    descriptor.create = [](const ParameterValues& values, const RunLimits& limits) -> std::unique_ptr<CacheStrategy> {
        PagedStrategy::Options options;
        options.log2_page = static_cast<int>(values.at("page"));
        options.slab = values.at("slab") != 0;
        options.may_grow = values.at("pages") == 0;
        options.by_content = limits.pages != nullptr;
        std::int64_t tokens =
            limits.expected_tokens > 0 ? std::min(limits.expected_tokens, limits.context) : limits.context;
        const std::int64_t page = std::int64_t{1} << options.log2_page;
        const std::int64_t pages = options.may_grow ? (tokens + page - 1) / page : values.at("pages");
        return std::make_unique<PagedStrategy>(
            limits.pages != nullptr ? limits.pages : std::make_shared<PagePool>(pages, page), options);
    };
    return descriptor;
}

}  // namespace decodescope
