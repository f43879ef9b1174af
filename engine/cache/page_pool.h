// Which pages of a cache are free, who owns the others, and which full pages can be found by the tokens they hold.
// Knows numbers only: no tensor, no device. Shared by the sequences of one group (forks, conversations with a common
// prefix).
#pragma once

#include <cstdint>
#include <functional>
#include <iterator>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "engine/trace/placement.h"

namespace decodescope {

// What a full page holds: its tokens and everything before them. Equal content has an equal number as long as one page
// with it can be found; numbers are never used again.
using PageContent = std::uint64_t;
constexpr PageContent kNoContent = 0;  // before the first page, or not known

// Page order: free pages stand in a queue, the one given back longest ago first. A page whose content is known can be
// found while it stands there; it leaves the index only when it is taken for something else.
class PagePool {
public:
    // Hash of a page's tokens chained to what stands before them. A hit is verified by comparing tokens, so a weak hash
    // costs time and nothing else.
    using Hash = std::function<std::uint64_t(PageContent before, std::span<const std::int32_t> tokens)>;

    struct Found {
        std::int32_t page = 0;
        PageContent content = kNoContent;
    };

    PagePool(std::int64_t pages, std::int64_t page_tokens, Hash hash = {});

    std::int64_t pages() const { return static_cast<std::int64_t>(pages_.size()); }
    std::int64_t page_tokens() const { return page_tokens_; }
    std::int64_t free_pages() const { return free_count_; }  // those that can still be found included
    std::int64_t used_pages() const { return pages() - free_count_; }
    std::int64_t shared_pages() const { return shared_count_; }  // more than one owner
    std::int64_t cached_pages() const { return cached_count_; }  // free and can still be found
    std::int64_t hash_collisions() const { return collisions_; }  // equal hash, other tokens
    std::int64_t owners(std::int32_t page) const { return std::ssize(at(page).owners); }
    bool findable(std::int32_t page) const { return at(page).content != kNoContent; }
    std::vector<std::int32_t> free_list() const;  // in the order in which they will be taken
    std::vector<PageRun> states() const;          // of all pages
    std::int32_t next_sequence() { return sequences_++; }  // number for one more owner

    // The next `count` pages that would be taken, fewer when there are not so many. Changes nothing.
    std::vector<std::int32_t> peek(std::int64_t count) const;
    // A free page gets its first owner; what it held can no longer be found.
    void take(std::int32_t page, std::int32_t owner = 0);
    // One owner more. A free page that can be found leaves the queue with its content.
    void share(std::int32_t page, std::int32_t owner = 0);
    // One owner less; without any, the page stands at the end of the queue.
    void give_back(std::int32_t page, std::int32_t owner = 0);
    // Undoes take(): the only owner gives the page up unused, and it is the next one to be taken again.
    void put_back(std::int32_t page);
    // The page is about to be written: what it held can no longer be found.
    void forget(std::int32_t page);
    // Free pages pages() .. pages - 1 at the end of the queue.
    void grow(std::int64_t pages);

    // The full page holds `tokens` (page_tokens() of them) after the content `before`, kNoContent for the first page.
    PageContent publish(std::int32_t page, PageContent before, std::span<const std::int32_t> tokens);
    // Full pages that hold the first tokens, as many as are there in a row. Changes collision counts only.
    std::vector<Found> find(std::span<const std::int32_t> tokens) const;
    // The first tokens that begin some full page at the start of a sequence, whether it is found or not: at most
    // page_tokens().
    std::int64_t common_start(std::span<const std::int32_t> tokens) const;

private:
    struct Page {
        std::vector<std::int32_t> owners;       // numbers of the sequences
        bool used = false, reclaimed = false;   // see PageRun
        std::int32_t previous = -1, next = -1;  // in the queue of free pages
        PageContent content = kNoContent, before = kNoContent;
        std::uint64_t hash = 0;
        std::vector<std::int32_t> tokens;
    };

    Page& at(std::int32_t page);
    const Page& at(std::int32_t page) const;
    void enqueue(std::int32_t page);
    void enqueue_first(std::int32_t page);
    void dequeue(std::int32_t page);
    // A page with that content, or -1.
    std::int32_t lookup(std::uint64_t hash, PageContent before, std::span<const std::int32_t> tokens) const;

    std::vector<Page> pages_;
    std::int64_t page_tokens_ = 0;
    Hash hash_;
    std::unordered_map<std::uint64_t, std::vector<std::int32_t>> index_;  // hash -> pages, oldest first
    std::int32_t first_free_ = -1, last_free_ = -1;
    std::int64_t free_count_ = 0, shared_count_ = 0, cached_count_ = 0;
    mutable std::int64_t collisions_ = 0;
    std::int32_t sequences_ = 0;
    PageContent last_content_ = kNoContent;
};

// Why nothing was found of a prompt of `prompt` tokens whose first `common` tokens are stored (PG-09): one sentence;
// empty when nothing is common.
std::string why_no_prefix(std::int64_t common, std::int64_t prompt, std::int64_t page_tokens);
// Tokens at the start that are the same in both.
std::int64_t common_prefix(std::span<const std::int32_t> a, std::span<const std::int32_t> b);

}  // namespace decodescope
