#include "engine/cache/page_pool.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/support/hash.h"
#include "kernels/api/status.h"

namespace decodescope {
namespace {

std::uint64_t chained_hash(PageContent before, std::span<const std::int32_t> tokens) {
    Hasher hasher(before);
    for (const std::int32_t token : tokens) hasher.add_integer(static_cast<std::uint64_t>(token));
    return hasher.value();
}

}  // namespace

PagePool::PagePool(std::int64_t pages, std::int64_t page_tokens, Hash hash)
    : page_tokens_(page_tokens), hash_(hash ? std::move(hash) : Hash(chained_hash)) {
    DS_CHECK(pages >= 0 && page_tokens >= 1);
    grow(pages);
}

PagePool::Page& PagePool::at(std::int32_t page) {
    DS_CHECK(page >= 0 && static_cast<std::size_t>(page) < pages_.size());
    return pages_[static_cast<std::size_t>(page)];
}

const PagePool::Page& PagePool::at(std::int32_t page) const {
    DS_CHECK(page >= 0 && static_cast<std::size_t>(page) < pages_.size());
    return pages_[static_cast<std::size_t>(page)];
}

void PagePool::grow(std::int64_t pages) {
    DS_CHECK(pages >= this->pages());
    for (std::int64_t page = this->pages(); page < pages; ++page) {
        pages_.emplace_back();
        enqueue(static_cast<std::int32_t>(page));
    }
}

void PagePool::enqueue(std::int32_t page) {
    Page& entry = at(page);
    entry.previous = last_free_;
    entry.next = -1;
    (last_free_ < 0 ? first_free_ : at(last_free_).next) = page;
    last_free_ = page;
    ++free_count_;
    if (entry.content != kNoContent) ++cached_count_;
}

void PagePool::enqueue_first(std::int32_t page) {
    Page& entry = at(page);
    entry.previous = -1;
    entry.next = first_free_;
    (first_free_ < 0 ? last_free_ : at(first_free_).previous) = page;
    first_free_ = page;
    ++free_count_;
    if (entry.content != kNoContent) ++cached_count_;
}

void PagePool::dequeue(std::int32_t page) {
    Page& entry = at(page);
    (entry.previous < 0 ? first_free_ : at(entry.previous).next) = entry.next;
    (entry.next < 0 ? last_free_ : at(entry.next).previous) = entry.previous;
    --free_count_;
    if (entry.content != kNoContent) --cached_count_;
}

std::vector<std::int32_t> PagePool::free_list() const { return peek(free_count_); }

std::vector<std::int32_t> PagePool::peek(std::int64_t count) const {
    std::vector<std::int32_t> list;
    for (std::int32_t page = first_free_; page >= 0 && static_cast<std::int64_t>(list.size()) < count;
         page = at(page).next)
        list.push_back(page);
    return list;
}

std::vector<PageRun> PagePool::states() const {
    std::vector<PageRun> runs;
    for (std::int32_t page = 0; page < static_cast<std::int32_t>(pages()); ++page) {
        const Page& entry = at(page);
        const bool findable = entry.content != kNoContent;
        if (!runs.empty() && runs.back().findable == findable && runs.back().used == entry.used &&
            runs.back().reclaimed == entry.reclaimed && runs.back().owners == entry.owners)
            ++runs.back().count;
        else
            runs.push_back({page, 1, findable, entry.used, entry.reclaimed, entry.owners});
    }
    return runs;
}

void PagePool::take(std::int32_t page, std::int32_t owner) {
    DS_CHECK(owners(page) == 0);
    forget(page);
    dequeue(page);
    at(page).owners = {owner};
    at(page).used = true;
}

void PagePool::share(std::int32_t page, std::int32_t owner) {
    Page& entry = at(page);
    if (entry.owners.empty()) {
        DS_CHECK(entry.content != kNoContent);
        dequeue(page);
    }
    entry.owners.push_back(owner);
    if (entry.owners.size() == 2) ++shared_count_;
}

void PagePool::give_back(std::int32_t page, std::int32_t owner) {
    Page& entry = at(page);
    const auto own = std::find(entry.owners.begin(), entry.owners.end(), owner);
    DS_CHECK(own != entry.owners.end());
    entry.owners.erase(own);
    if (entry.owners.size() == 1) --shared_count_;
    if (!entry.owners.empty()) return;
    entry.reclaimed = false;
    enqueue(page);
}

void PagePool::put_back(std::int32_t page) {
    Page& entry = at(page);
    DS_CHECK(entry.owners.size() == 1 && entry.content == kNoContent);
    entry.owners.clear();
    enqueue_first(page);
}

void PagePool::forget(std::int32_t page) {
    Page& entry = at(page);
    if (entry.content == kNoContent) return;
    const auto bucket = index_.find(entry.hash);
    DS_CHECK(bucket != index_.end());
    bucket->second.erase(std::find(bucket->second.begin(), bucket->second.end(), page));
    if (bucket->second.empty()) index_.erase(bucket);
    if (entry.owners.empty()) {
        --cached_count_;
        entry.reclaimed = true;
    }
    entry.content = entry.before = kNoContent;
    entry.tokens.clear();
}

std::int32_t PagePool::lookup(std::uint64_t hash, PageContent before, std::span<const std::int32_t> tokens) const {
    const auto bucket = index_.find(hash);
    if (bucket == index_.end()) return -1;
    for (const std::int32_t page : bucket->second) {
        const Page& entry = at(page);
        if (entry.before == before && std::equal(tokens.begin(), tokens.end(), entry.tokens.begin())) return page;
        ++collisions_;
    }
    return -1;
}

PageContent PagePool::publish(std::int32_t page, PageContent before, std::span<const std::int32_t> tokens) {
    DS_CHECK(owners(page) > 0 && static_cast<std::int64_t>(tokens.size()) == page_tokens_);
    forget(page);
    const std::uint64_t hash = hash_(before, tokens);
    const std::int32_t same = lookup(hash, before, tokens);
    Page& entry = at(page);
    entry.content = same >= 0 ? at(same).content : ++last_content_;
    entry.before = before;
    entry.hash = hash;
    entry.tokens.assign(tokens.begin(), tokens.end());
    index_[hash].push_back(page);
    return entry.content;
}

std::vector<PagePool::Found> PagePool::find(std::span<const std::int32_t> tokens) const {
    std::vector<Found> list;
    PageContent before = kNoContent;
    const auto width = static_cast<std::size_t>(page_tokens_);
    for (std::size_t first = 0; first + width <= tokens.size(); first += width) {
        const auto part = tokens.subspan(first, width);
        const std::int32_t page = lookup(hash_(before, part), before, part);
        if (page < 0) break;
        before = at(page).content;
        list.push_back({page, before});
    }
    return list;
}

std::int64_t PagePool::common_start(std::span<const std::int32_t> tokens) const {
    std::int64_t most = 0;
    for (const Page& page : pages_) {
        if (page.content != kNoContent && page.before == kNoContent)
            most = std::max(most, common_prefix(page.tokens, tokens));
    }
    return most;
}

std::int64_t common_prefix(std::span<const std::int32_t> a, std::span<const std::int32_t> b) {
    const auto end = std::mismatch(a.begin(), a.end(), b.begin(), b.end()).first;
    return end - a.begin();
}

std::string why_no_prefix(std::int64_t common, std::int64_t prompt, std::int64_t page_tokens) {
    if (common <= 0) return {};
    if (common < page_tokens)
        return fmt::format("Shared prefix {} < page {}: only full pages are shared, so nothing was found.", common,
                           page_tokens);
    return fmt::format("All {} tokens are stored, but the last one is always computed, and its page of {} with it.",
                       prompt, page_tokens);
}

}  // namespace decodescope
