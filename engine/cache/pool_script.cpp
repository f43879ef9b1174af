#include "engine/cache/pool_script.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <utility>

#include "engine/support/counted.h"
#include "engine/support/numbers.h"

namespace decodescope {
namespace {

constexpr std::int64_t kMostScriptPages = 1 << 20, kLargestPage = 256;

std::vector<std::string> words_of(std::string_view line) {
    std::vector<std::string> words;
    std::string word;
    for (const char c : line) {
        if (c != ' ' && c != '\t' && c != '\r') {
            word += c;
        } else if (!word.empty()) {
            words.push_back(std::exchange(word, {}));
        }
    }
    if (!word.empty()) words.push_back(std::move(word));
    return words;
}

// "1,2,3"
Result<std::vector<std::int32_t>> tokens_of(std::string_view text) {
    std::vector<std::int32_t> tokens;
    for (bool more = true; more;) {
        const auto comma = text.find(',');
        const auto value = parse_integer(text.substr(0, comma));
        if (!value || *value < 0 || *value > std::numeric_limits<std::int32_t>::max()) {
            return make_error(ErrorKind::Argument, fmt::format("\"{}\" is no token.", text.substr(0, comma)),
                              "Tokens are whole numbers with commas between them.");
        }
        tokens.push_back(static_cast<std::int32_t>(*value));
        more = comma != std::string_view::npos;
        if (more) text.remove_prefix(comma + 1);
    }
    return tokens;
}

std::optional<std::int64_t> value_of(const std::string& word, std::string_view name) {
    if (word.size() <= name.size() + 1 || word.substr(0, name.size()) != name || word[name.size()] != '=')
        return std::nullopt;
    return parse_integer(std::string_view(word).substr(name.size() + 1));
}

Status commit(PagedStrategy& sequence, const std::vector<std::int32_t>& tokens, std::int64_t& copied) {
    auto plan = sequence.plan(static_cast<std::int64_t>(tokens.size()));
    if (!plan.ok()) return plan.error();
    copied = static_cast<std::int64_t>(plan->copies.size());
    sequence.begin_write(*plan);
    sequence.commit(*plan);
    sequence.name_tokens(tokens);
    return {};
}

}  // namespace

Result<PoolScript::Counts> PoolScript::make_pool(const std::vector<std::string>& words) {
    std::optional<std::int64_t> pages, page;
    for (std::size_t i = 1; i < words.size(); ++i) {
        if (const auto value = value_of(words[i], "pages")) pages = value;
        if (const auto value = value_of(words[i], "page")) page = value;
    }
    const std::string rule = fmt::format("Write new pages=N page=P, N from 1 to {}, P a power of two from 1 to {}.",
                                         kMostScriptPages, kLargestPage);
    if (words.size() != 3 || !pages || !page)
        return make_error(ErrorKind::Argument, "A pool needs a number of pages and tokens of a page.", rule);
    if (*pages < 1 || *pages > kMostScriptPages)
        return make_error(ErrorKind::Argument, fmt::format("A pool cannot have {} pages.", *pages), rule);
    if (*page < 1 || *page > kLargestPage || !std::has_single_bit(static_cast<std::uint64_t>(*page)))
        return make_error(ErrorKind::Argument, fmt::format("A page cannot have {} tokens.", *page), rule);
    sequences_.clear();
    pool_ = std::make_shared<PagePool>(*pages, *page);
    options_.log2_page = std::countr_zero(static_cast<std::uint64_t>(*page));
    options_.by_content = true;
    return Counts{};
}

Result<PoolScript::Counts> PoolScript::start(const std::string& name, const std::vector<std::int32_t>& tokens) {
    if (sequences_.count(name) != 0) return make_error(ErrorKind::Argument, fmt::format("{} has been started.", name));
    Counts counts;
    // Before anything is taken: found pages that were given back would stand elsewhere in the queue than before.
    const auto found = pool_->find(std::span(tokens).first(tokens.size() - 1));
    const auto found_free = std::count_if(found.begin(), found.end(),
                                          [this](const auto& one) { return pool_->owners(one.page) == 0; });
    const std::int64_t page = pool_->page_tokens(), free = pool_->free_pages() - found_free;
    const std::int64_t needed =
        (static_cast<std::int64_t>(tokens.size()) + page - 1) / page - static_cast<std::int64_t>(found.size());
    if (needed > free) {
        return make_error(ErrorKind::Capacity, fmt::format("{} needs {} and {} {} free.", name, counted(needed, "page"),
                                                           free, free == 1 ? "is" : "are"));
    }
    auto sequence = std::make_unique<PagedStrategy>(pool_, options_);
    const auto taken = sequence->take_prefix(tokens);
    counts.hits = taken / page;
    if (taken == 0) counts.note = why_nothing_found(tokens);
    const std::vector<std::int32_t> rest(tokens.begin() + static_cast<std::ptrdiff_t>(taken), tokens.end());
    DS_RETURN_IF_ERROR(commit(*sequence, rest, counts.copied));
    sequences_[name] = std::move(sequence);
    return counts;
}

std::string PoolScript::why_nothing_found(const std::vector<std::int32_t>& tokens) const {
    std::int64_t common = pool_->common_start(tokens);
    for (const auto& [name, sequence] : sequences_)
        common = std::max(common, common_prefix(sequence->named_tokens(), tokens));
    return why_no_prefix(common, static_cast<std::int64_t>(tokens.size()), pool_->page_tokens());
}

Result<PagedStrategy*> PoolScript::living(const std::string& name) {
    const auto found = sequences_.find(name);
    if (found != sequences_.end()) return found->second.get();
    return make_error(ErrorKind::Argument, fmt::format("There is no sequence {}.", name));
}

Result<PoolScript::Counts> PoolScript::append(const std::string& name, const std::vector<std::int32_t>& tokens) {
    auto sequence = living(name);
    if (!sequence.ok()) return sequence.error();
    Counts counts;
    DS_RETURN_IF_ERROR(commit(**sequence, tokens, counts.copied));
    return counts;
}

Result<PoolScript::Counts> PoolScript::fork(const std::string& from, const std::string& to) {
    auto sequence = living(from);
    if (!sequence.ok()) return sequence.error();
    if (sequences_.count(to) != 0) return make_error(ErrorKind::Argument, fmt::format("{} has been started.", to));
    sequences_[to].reset(static_cast<PagedStrategy*>((*sequence)->clone().release()));
    return Counts{};
}

Result<PoolScript::Counts> PoolScript::obey(const std::vector<std::string>& words) {
    const std::string& command = words.front();
    if (command == "new") return make_pool(words);
    const Error unknown = make_error(ErrorKind::Argument, fmt::format("\"{}\" is no line of a pool script.", command),
                                     "Write new, start NAME TOKENS, append NAME TOKENS, fork NAME NAME or end NAME.");
    if (words.size() != (command == "end" ? 2u : 3u)) return unknown;
    if (pool_ == nullptr)
        return make_error(ErrorKind::Argument, "There is no pool yet.", "Begin with new pages=N page=P.");
    if (command == "fork") return fork(words[1], words[2]);
    if (command == "end") {
        auto sequence = living(words[1]);
        if (!sequence.ok()) return sequence.error();
        sequences_.erase(words[1]);
        return Counts{};
    }
    if (command != "start" && command != "append") return unknown;
    auto tokens = tokens_of(words[2]);
    if (!tokens.ok()) return tokens.error();
    return command == "start" ? start(words[1], *tokens) : append(words[1], *tokens);
}

PoolState PoolScript::run(std::string_view line) {
    PoolState state;
    state.line = std::string(line);
    const auto words = words_of(line);
    const auto counts = words.empty() ? Result<Counts>(Counts{}) : obey(words);
    if (counts.ok()) {
        state.hits = counts.value().hits;
        state.copied = counts.value().copied;
        state.note = counts.value().note;
    } else {
        state.error = counts.error().text();
    }
    for (const auto& [name, sequence] : sequences_) state.tables[name] = sequence->table();
    if (pool_ == nullptr) return state;
    state.free = pool_->free_list();
    for (std::int32_t page = 0; page < static_cast<std::int32_t>(pool_->pages()); ++page) {
        if (pool_->findable(page)) state.cached.push_back(page);
        if (pool_->owners(page) > 0) state.owners[page] = pool_->owners(page);
    }
    return state;
}

}  // namespace decodescope
