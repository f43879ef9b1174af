// Pages, owners, the queue of free ones and what can be found, without tensors: 10,000 random operations beside a naive
// model that recounts everything (PG-04 to PG-06, PG-08 to PG-12).
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>
#include <set>

#include "engine/cache/strategies/paged.h"

namespace decodescope {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<std::int32_t> text_of(std::initializer_list<std::int32_t> tokens) { return tokens; }

std::vector<std::int32_t> pages_of(const std::vector<PagePool::Found>& found) {
    std::vector<std::int32_t> pages;
    for (const auto& one : found) pages.push_back(one.page);
    return pages;
}

TEST(PagePool, QueueIsLeastRecentlyUsedFirst) {
    PagePool pool(4, 2);
    EXPECT_THAT(pool.free_list(), ElementsAre(0, 1, 2, 3));
    EXPECT_THAT(pool.peek(2), ElementsAre(0, 1));
    pool.take(0);
    pool.take(1);
    EXPECT_THAT(pool.free_list(), ElementsAre(2, 3));
    pool.give_back(1);
    pool.give_back(0);
    EXPECT_THAT(pool.free_list(), ElementsAre(2, 3, 1, 0));
    EXPECT_EQ(pool.peek(9).size(), 4u);
}

TEST(PagePool, StatesNameTheOwners) {
    PagePool pool(4, 2);
    const std::int32_t a = pool.next_sequence(), b = pool.next_sequence();
    pool.take(0, a);
    pool.take(1, b);
    pool.publish(0, kNoContent, text_of({1, 2}));
    pool.share(0, b);
    using testing::FieldsAre;
    EXPECT_THAT(pool.states(), ElementsAre(FieldsAre(0, 1, true, true, false, ElementsAre(0, 1)),
                                           FieldsAre(1, 1, false, true, false, ElementsAre(1)),
                                           FieldsAre(2, 2, false, false, false, ElementsAre())));
    pool.give_back(0, a);
    EXPECT_THAT(pool.states()[0].owners, ElementsAre(b));
    pool.give_back(0, b);
    pool.take(2, a);
    pool.take(3, a);
    pool.take(0, a);  // it could still be found
    EXPECT_THAT(pool.states()[0], FieldsAre(0, 1, false, true, true, ElementsAre(a)));
    pool.give_back(0, a);
    EXPECT_THAT(pool.states()[0], FieldsAre(0, 1, false, true, false, ElementsAre()));
}

TEST(PagePool, AFullPageIsFoundUntilItIsTakenForSomethingElse) {
    PagePool pool(3, 2);
    pool.take(0);
    pool.take(1);
    const PageContent first = pool.publish(0, kNoContent, text_of({1, 2}));
    pool.publish(1, first, text_of({3, 4}));
    EXPECT_THAT(pages_of(pool.find(text_of({1, 2, 3, 4, 5}))), ElementsAre(0, 1));
    EXPECT_THAT(pages_of(pool.find(text_of({1, 2, 3}))), ElementsAre(0));
    EXPECT_TRUE(pool.find(text_of({3, 4})).empty());     // the same tokens after another prefix
    EXPECT_TRUE(pool.find(text_of({1})).empty());
    pool.give_back(1);
    pool.give_back(0);
    EXPECT_EQ(pool.cached_pages(), 2);
    EXPECT_THAT(pages_of(pool.find(text_of({1, 2, 3, 4}))), ElementsAre(0, 1));
    pool.share(0);  // a hit leaves the queue
    EXPECT_THAT(pool.free_list(), ElementsAre(2, 1));
    pool.take(2);
    pool.take(1);   // PG-05: gone from the index with the page
    EXPECT_THAT(pages_of(pool.find(text_of({1, 2, 3, 4}))), ElementsAre(0));
    EXPECT_EQ(pool.cached_pages(), 0);
    EXPECT_EQ(pool.free_pages(), 0);
}

// PG-06: a hash that is always the same finds nothing wrong, it only compares more.
TEST(PagePool, PG06_EqualHashesAreComparedByTokens) {
    PagePool pool(6, 2, [](PageContent, std::span<const std::int32_t>) { return std::uint64_t{7}; });
    for (std::int32_t page = 0; page < 4; ++page) pool.take(page);
    const PageContent a = pool.publish(0, kNoContent, text_of({1, 2}));
    pool.publish(1, a, text_of({9, 9}));
    const PageContent b = pool.publish(2, kNoContent, text_of({3, 4}));
    EXPECT_NE(a, b);
    pool.publish(3, b, text_of({8, 8}));
    const auto before = pool.hash_collisions();
    EXPECT_THAT(pages_of(pool.find(text_of({3, 4, 8, 8}))), ElementsAre(2, 3));
    EXPECT_THAT(pages_of(pool.find(text_of({3, 4, 9, 9}))), ElementsAre(2));
    EXPECT_TRUE(pool.find(text_of({8, 8})).empty());
    EXPECT_GT(pool.hash_collisions(), before);
}

TEST(PagePool, TwoPagesWithTheSameContentHaveOneNumber) {
    PagePool pool(3, 1);
    for (std::int32_t page = 0; page < 3; ++page) pool.take(page);
    const PageContent a = pool.publish(0, kNoContent, text_of({5}));
    EXPECT_EQ(pool.publish(1, kNoContent, text_of({5})), a);
    pool.publish(2, a, text_of({6}));
    pool.forget(0);
    EXPECT_THAT(pages_of(pool.find(text_of({5, 6}))), ElementsAre(1, 2));
    pool.forget(1);
    EXPECT_NE(pool.publish(0, kNoContent, text_of({5})), a);  // numbers are not used again
}

// Sequences of one group with one storage beside them: which token of which prefix lies in each slot.
struct Group {
    explicit Group(std::int64_t pages, int log2_page, PagePool::Hash hash = {})
        : pool(std::make_shared<PagePool>(pages, std::int64_t{1} << log2_page, std::move(hash))) {
        options.log2_page = log2_page;
        options.by_content = true;
        rows.resize(static_cast<std::size_t>(pages << log2_page));
    }

    struct Sequence {
        std::unique_ptr<CacheStrategy> strategy;
        std::vector<std::int32_t> tokens;
    };

    std::unique_ptr<CacheStrategy> strategy() const { return std::make_unique<PagedStrategy>(pool, options); }

    void apply(const CachePlan& plan) {
        rows.resize(static_cast<std::size_t>(plan.capacity_after));
        const auto page = pool->page_tokens();
        for (const auto fresh : plan.fresh_pages)
            std::fill_n(rows.begin() + fresh * page, page, std::vector<std::int32_t>{-1});
        for (const auto& copy : plan.copies)
            std::copy_n(rows.begin() + copy.from, copy.count, rows.begin() + copy.to);
    }

    // A row holds everything up to its token: what K and V depend on.
    void store(const CachePlan& plan, const std::vector<std::int32_t>& all) {
        for (std::size_t r = 0; r < plan.store_slots.size(); ++r) {
            const auto end = static_cast<std::ptrdiff_t>(plan.first_position) + static_cast<std::ptrdiff_t>(r) + 1;
            rows[static_cast<std::size_t>(plan.store_slots[r])].assign(all.begin(), all.begin() + end);
        }
    }

    enum class Pass { Good, Refused, FailsBefore, FailsAfter };
    bool feed(Sequence& sequence, const std::vector<std::int32_t>& tokens, Pass pass = Pass::Good) {
        auto plan = sequence.strategy->plan(static_cast<std::int64_t>(tokens.size()));
        if (!plan.ok()) return false;
        sequence.strategy->begin_write(*plan);
        if (pass == Pass::FailsBefore) return true;
        apply(*plan);
        auto all = sequence.tokens;
        all.insert(all.end(), tokens.begin(), tokens.end());
        if (pass == Pass::FailsAfter) {  // rows of a pass that was cancelled: anything
            for (const auto slot : plan->store_slots) rows[static_cast<std::size_t>(slot)] = {-2};
            return true;
        }
        store(*plan, all);
        sequence.strategy->commit(*plan);
        sequence.strategy->name_tokens(tokens);
        sequence.tokens = std::move(all);
        return true;
    }

    void expect_consistent(const std::vector<Sequence>& sequences) const {
        std::map<std::int32_t, std::int64_t> owners;
        for (const auto& sequence : sequences) {
            const auto& table = static_cast<const PagedStrategy&>(*sequence.strategy).table();
            ASSERT_EQ(std::set<std::int32_t>(table.begin(), table.end()).size(), table.size());
            for (const auto page : table) ++owners[page];
            ASSERT_EQ(sequence.strategy->tokens_seen(), static_cast<std::int64_t>(sequence.tokens.size()));
            for (std::size_t t = 0; t < sequence.tokens.size(); ++t) {
                const auto slot = sequence.strategy->slot_of(static_cast<std::int32_t>(t));
                ASSERT_TRUE(slot.has_value());
                const auto& row = rows.at(static_cast<std::size_t>(*slot));
                ASSERT_TRUE(row.size() == t + 1 && std::equal(row.begin(), row.end(), sequence.tokens.begin()))
                    << "position " << t;
            }
        }
        const auto free = pool->free_list();
        std::int64_t shared = 0, cached = 0;
        for (std::int32_t page = 0; page < pool->pages(); ++page) {
            ASSERT_EQ(pool->owners(page), owners[page]) << "page " << page;
            shared += owners[page] > 1 ? 1 : 0;
            const bool is_free = std::count(free.begin(), free.end(), page) == 1;
            ASSERT_EQ(is_free, owners[page] == 0);
            cached += is_free && pool->findable(page) ? 1 : 0;
        }
        ASSERT_EQ(pool->shared_pages(), shared);
        ASSERT_EQ(pool->cached_pages(), cached);
        ASSERT_EQ(pool->free_pages(), static_cast<std::int64_t>(free.size()));
        ASSERT_EQ(pool->free_pages() + pool->used_pages(), pool->pages());
    }

    std::shared_ptr<PagePool> pool;
    PagedStrategy::Options options;
    std::vector<std::vector<std::int32_t>> rows;
};

// Few different tokens, so that texts begin alike often.
std::vector<std::int32_t> random_text(std::mt19937& random, std::size_t length) {
    std::vector<std::int32_t> tokens(length);
    for (auto& token : tokens) token = static_cast<std::int32_t>(random() % 2);
    return tokens;
}

void random_operation(Group& group, std::vector<Group::Sequence>& sequences, std::mt19937& random,
                      std::int64_t& hits) {
    const unsigned what = random() % 24;
    if (sequences.empty() || (what < 4 && sequences.size() < 6)) {
        Group::Sequence fresh{group.strategy(), {}};
        const auto prompt = random_text(random, 1 + random() % 12);
        const auto taken = fresh.strategy->take_prefix(prompt);
        ASSERT_LT(taken, static_cast<std::int64_t>(prompt.size()));  // PG-08
        ASSERT_EQ(taken % group.pool->page_tokens(), 0);
        hits += taken;
        fresh.tokens.assign(prompt.begin(), prompt.begin() + taken);
        group.feed(fresh, {prompt.begin() + taken, prompt.end()});
        sequences.push_back(std::move(fresh));
        return;
    }
    auto& sequence = sequences[random() % sequences.size()];
    if (what < 14 && sequence.tokens.size() < 24) {
        const auto tokens = random_text(random, 1 + random() % 5);
        const auto before = group.pool->free_list();
        const auto pass = what == 4 ? Group::Pass::FailsBefore
                          : what == 5 ? Group::Pass::FailsAfter : Group::Pass::Good;
        if (!group.feed(sequence, tokens, pass)) {
            ASSERT_EQ(group.pool->free_list(), before);
        }
    } else if (what < 17) {
        const auto kept = random() % (sequence.tokens.size() + 1);
        ASSERT_TRUE(sequence.strategy->truncate(static_cast<std::int64_t>(kept)).ok());
        sequence.tokens.resize(kept);
    } else if (what < 20 && sequences.size() < 6) {
        Group::Sequence copy{sequence.strategy->clone(), sequence.tokens};
        sequences.push_back(std::move(copy));
    } else if (what < 23) {
        sequences.erase(sequences.begin() + static_cast<std::ptrdiff_t>(random() % sequences.size()));
    } else {
        sequence.strategy->reset();
        sequence.tokens.clear();
    }
}

TEST(PagePool, PG04_TenThousandRandomOperations) {
    struct Row {
        int log2_page;
        bool weak_hash, grows;
    };
    for (const Row& row : {Row{0, false, false}, {1, true, false}, {2, false, false}, {2, true, true}}) {
        SCOPED_TRACE(fmt::format("page {} weak {} grows {}", 1 << row.log2_page, row.weak_hash, row.grows));
        PagePool::Hash constant = [](PageContent, std::span<const std::int32_t>) { return std::uint64_t{1}; };
        Group group((row.grows ? 8 : 48) >> row.log2_page, row.log2_page, row.weak_hash ? constant : PagePool::Hash());
        group.options.may_grow = row.grows;
        std::mt19937 random(static_cast<unsigned>(17 + row.log2_page));
        std::vector<Group::Sequence> sequences;
        std::int64_t hits = 0;
        for (int i = 0; i < 10000; ++i) {
            SCOPED_TRACE(i);
            random_operation(group, sequences, random, hits);
            if (testing::Test::HasFatalFailure()) return;
            group.expect_consistent(sequences);
            if (testing::Test::HasFatalFailure()) return;
        }
        EXPECT_GT(hits, 300);
        EXPECT_EQ(group.pool->hash_collisions() > 0, row.weak_hash);
        sequences.clear();
        EXPECT_EQ(group.pool->free_pages(), group.pool->pages());  // PG-10: nothing leaks
    }
}

// PG-03, bookkeeping: page 4, a prompt of 6, three branches.
TEST(Paged, PG03_CopiesForTheFirstTwoWriters) {
    Group group(10, 2);
    std::vector<Group::Sequence> branches(1);
    branches[0] = {group.strategy(), {}};
    ASSERT_TRUE(group.feed(branches[0], {1, 2, 3, 4, 5, 6}));
    for (int i = 0; i < 2; ++i) branches.push_back({branches[0].strategy->clone(), branches[0].tokens});
    EXPECT_EQ(group.pool->owners(0), 3);
    EXPECT_EQ(group.pool->owners(1), 3);
    EXPECT_EQ(group.pool->used_pages(), 2);
    std::vector<std::size_t> copies;
    for (std::int32_t i = 0; i < 3; ++i) {
        copies.push_back(branches[static_cast<std::size_t>(i)].strategy->plan(1)->copies.size());
        ASSERT_TRUE(group.feed(branches[static_cast<std::size_t>(i)], {10 + i}));
        EXPECT_EQ(group.pool->owners(0), 3);
        group.expect_consistent(branches);
    }
    EXPECT_THAT(copies, ElementsAre(1, 1, 0));  // the last owner writes in place
    EXPECT_EQ(group.pool->used_pages(), 4);
    EXPECT_EQ(branches[2].strategy->slot_of(6), 6);
}

TEST(Paged, PG03_APromptThatEndsWithAPageCopiesNothing) {
    Group group(10, 2);
    Group::Sequence a{group.strategy(), {}};
    ASSERT_TRUE(group.feed(a, {1, 2, 3, 4, 5, 6, 7, 8}));
    Group::Sequence b{a.strategy->clone(), a.tokens};
    EXPECT_TRUE(a.strategy->plan(1)->copies.empty());
    EXPECT_TRUE(b.strategy->plan(1)->copies.empty());
    ASSERT_TRUE(group.feed(b, {9}));
    EXPECT_EQ(group.pool->used_pages(), 3);
}

// PG-08 and PG-09: figures by hand.
TEST(Paged, PG08_PG09_HowMuchOfAPrefixIsFound) {
    Group group(20, 2);
    Group::Sequence a{group.strategy(), {}};
    ASSERT_TRUE(group.feed(a, {1, 2, 3, 4, 5, 6, 7, 8}));
    const auto taken = [&group](std::vector<std::int32_t> prompt) { return group.strategy()->take_prefix(prompt); };
    EXPECT_EQ(taken({1, 2, 3, 4, 5, 6, 7, 8}), 4);  // the last token is computed again, and its page with it
    EXPECT_EQ(taken({1, 2, 3, 4, 5, 6, 7, 8, 9}), 8);
    EXPECT_EQ(taken({1, 2, 3}), 0);                 // shorter than a page
    EXPECT_EQ(taken({1, 2, 3, 4}), 0);
    EXPECT_EQ(taken({1, 2, 3, 4, 6, 6, 7, 8, 9}), 4);
    EXPECT_EQ(taken({2, 2, 3, 4, 5, 6, 7, 8, 9}), 0);
    EXPECT_EQ(taken({}), 0);
}

// PG-12: the pool is full of pages in use; what nobody owns is taken, what somebody owns is not.
TEST(Paged, PG12_OnlyPagesWithoutOwnersAreTaken) {
    Group group(4, 2);
    std::vector<Group::Sequence> live;
    live.push_back({group.strategy(), {}});
    ASSERT_TRUE(group.feed(live[0], {1, 2, 3, 4, 5}));
    live.push_back({live[0].strategy->clone(), live[0].tokens});
    ASSERT_TRUE(group.feed(live[1], {6}));
    Group::Sequence third{group.strategy(), {}};
    EXPECT_FALSE(group.feed(third, {9, 9, 9, 9, 9}));  // two pages, one is free
    auto refused = third.strategy->plan(5);
    EXPECT_EQ(refused.error().kind, ErrorKind::Capacity);
    EXPECT_THAT(refused.error().message, HasSubstr("2 pages"));
    EXPECT_THAT(refused.error().message, HasSubstr("1 of 4"));
    group.expect_consistent(live);
    EXPECT_TRUE(group.feed(third, {9, 9, 9}));
}

// PG-10: a thousand conversations with common prefixes, and nothing is lost.
TEST(Paged, PG10_AThousandConversations) {
    Group group(8, 1);
    for (int i = 0; i < 1000; ++i) {
        Group::Sequence one{group.strategy(), {}};
        const std::vector<std::int32_t> prompt = {1, 2, 3, 4, i % 7, 5};
        const auto taken = one.strategy->take_prefix(prompt);
        EXPECT_EQ(taken, i == 0 ? 0 : 4);
        one.tokens.assign(prompt.begin(), prompt.begin() + taken);
        ASSERT_TRUE(group.feed(one, {prompt.begin() + taken, prompt.end()}));
        ASSERT_LE(group.pool->used_pages(), group.pool->pages());
    }
    EXPECT_EQ(group.pool->free_pages(), 8);
}

TEST(Paged, PagesAreTakenWhenTheyAreNeeded) {
    auto spec = parse_cache_spec("paged:page=4");
    ASSERT_TRUE(spec.ok());
    auto strategy = make_strategy(*spec, {128, 30});
    ASSERT_TRUE(strategy.ok());
    EXPECT_EQ((*strategy)->capacity(), 32);
    for (std::int64_t n = 1; n <= 30; ++n) {
        auto plan = (*strategy)->plan(1);
        ASSERT_TRUE(plan.ok());
        (*strategy)->commit(*plan);
        EXPECT_EQ((*strategy)->page_counts()->used, (n + 3) / 4);
        EXPECT_EQ((*strategy)->page_counts()->free, 8 - (n + 3) / 4);
    }
    ASSERT_TRUE((*strategy)->truncate(9).ok());  // CC-06: pages go back
    EXPECT_EQ((*strategy)->page_counts()->used, 3);
    (*strategy)->reset();
    EXPECT_EQ((*strategy)->page_counts()->free, 8);
    auto fixed = make_strategy(*parse_cache_spec("paged:page=4,pages=2"), {128, 30});
    EXPECT_TRUE((*fixed)->plan(8).ok());
    EXPECT_FALSE((*fixed)->plan(9).ok());
}

}  // namespace
}  // namespace decodescope
