// Pages on a running model: the same bits as contiguous storage, branches that share pages (PG-02, PG-03, CC-06), and
// the bugs that these comparisons must see.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/engine/decode/session_helpers.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

const std::vector<const char*> kPages = {"paged:page=1", "paged:page=4", "paged", "paged:page=256",
                                         "paged:page=4,slab=true"};

TEST(PagedSession, BitIdenticalToPreallocated) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(40, 97, 31);
    for (const char* backend : {"cpu2", "reference"}) {
        const auto on_backend = loaded(model, backend);
        for (const char* kv : {"f32", "f16"}) {
            for (const std::int64_t chunk : {1, 5, 16}) {
                const auto expected =
                    feed_all(*session_of(on_backend, session_config("preallocated", kv)), tokens, chunk).logits;
                for (const char* cache : kPages) {
                    EXPECT_EQ(feed_all(*session_of(on_backend, session_config(cache, kv)), tokens, chunk).logits,
                              expected)
                        << backend << " " << kv << " " << chunk << " " << cache;
                }
            }
        }
    }
}

// Lengths around the end of a page while everything that was not written is NaN: V alone is enough, 0 x NaN = NaN.
TEST(PagedSession, PG02_WhatWasNotWrittenIsNotRead) {
    const auto model = make_tiny_llama();
    const auto all = random_tokens(32, 97, 32);
    const auto oracle = run_oracle(*model, all);
    for (const char* kv : {"f32", "f16"}) {
        for (const std::int64_t length : {1, 15, 16, 17, 31}) {
            SCOPED_TRACE(fmt::format("{} {}", kv, length));
            Probed probed(model);
            probed.backend->fill.assign(1, std::byte{0xFF});
            const auto session = session_of(probed.model, session_config("paged:page=16", kv));
            Fed fed = feed_all(*session, std::span(all).first(static_cast<std::size_t>(length)), length);
            feed_into(fed, *session, std::span(all).subspan(static_cast<std::size_t>(length), 1), 1);
            const auto first = static_cast<std::size_t>(length - 1);
            EXPECT_LE(worst_l2(fed.logits, oracle, first), std::string(kv) == "f32" ? kExact : kHalf);
        }
    }
}

TEST(PagedSession, FactsCountPages) {
    const auto model = make_tiny_llama();
    const auto on_cpu = loaded(model);
    const auto tokens = random_tokens(17, 97, 33);
    SessionConfig config = session_config("paged");
    config.expected_tokens = 40;
    const auto session = session_of(on_cpu, config);
    const std::int64_t row = model->config.kv_bytes_per_token(ElementType::F32, ElementType::F32);
    const auto live = [&on_cpu] {
        return on_cpu->backend->memory().bytes[static_cast<std::size_t>(MemoryPurpose::KvCache)];
    };
    EXPECT_EQ(session->kv_facts().pages_free, 3);
    auto pass = session->feed(tokens, {});
    ASSERT_TRUE(pass.ok());
    EXPECT_EQ(pass->kv.used_bytes, 17 * row);
    EXPECT_EQ(pass->kv.reserved_bytes, 32 * row);  // waste inside the last page: 15 rows
    EXPECT_EQ(pass->kv.capacity_tokens, 32);
    EXPECT_EQ(pass->kv.pool_bytes, 48 * row);
    EXPECT_EQ(pass->kv.pool_bytes, live());
    EXPECT_EQ(pass->kv.pages_used, 2);
    EXPECT_EQ(pass->kv.pages_free, 1);
    EXPECT_EQ(pass->kv.pages_shared, 0);
    EXPECT_EQ(pass->kv.pages_copied, 0);
    EXPECT_EQ(pass->kv.peak_bytes, 32 * row);
    ASSERT_TRUE(session->truncate(16).ok());
    EXPECT_EQ(session->kv_facts().pages_used, 1);
    EXPECT_EQ(session->kv_facts().pages_free, 2);
    ASSERT_TRUE(session->reset().ok());
    EXPECT_EQ(session->kv_facts().pages_free, 3);
    EXPECT_EQ(session->kv_facts().reserved_bytes, 0);
}

TEST(PagedSession, PG03_BranchesEqualTheSameTextAlone) {
    const auto model = make_tiny_llama();
    const auto on_cpu = loaded(model);
    const auto prompt = random_tokens(6, 97, 34);
    const auto config = session_config("paged:page=4");
    std::vector<std::unique_ptr<DecodeSession>> branches;
    branches.push_back(session_of(on_cpu, config));
    feed_all(*branches[0], prompt, 6);
    for (int i = 0; i < 2; ++i) {
        auto fork = branches[0]->fork();
        ASSERT_TRUE(fork.ok());
        branches.push_back(std::move(*fork));
    }
    EXPECT_EQ(branches[0]->kv_facts().pages_shared, 2);
    const std::int64_t row = model->config.kv_bytes_per_token(ElementType::F32, ElementType::F32);
    for (std::int32_t i = 0; i < 3; ++i) {
        SCOPED_TRACE(i);
        DecodeSession& branch = *branches[static_cast<std::size_t>(i)];
        std::vector<std::vector<float>> others;
        for (const auto& other : branches) others.push_back(all_cells(*other));
        const std::int32_t first = 10 + i;
        auto pass = branch.feed({&first, 1}, {});
        ASSERT_TRUE(pass.ok());
        EXPECT_EQ(pass->kv.pages_copied, i < 2 ? 1 : 0);  // the last owner writes in place
        EXPECT_EQ(pass->kv.copied_bytes, i < 2 ? 2 * row : 0);
        EXPECT_EQ(pass->kv.pages_free, 30 - std::min(i + 1, 2) - i);  // the others went on to a page of their own
        feed_all(branch, std::vector<std::int32_t>{20 + i, 30 + i, 40 + i}, 1);
        for (std::size_t k = 0; k < branches.size(); ++k) {
            if (k != static_cast<std::size_t>(i)) {
                EXPECT_EQ(all_cells(*branches[k]), others[k]) << "branch " << k << " changed";
            }
        }
    }
    for (std::int32_t i = 0; i < 3; ++i) {
        const auto alone = session_of(on_cpu, session_config("preallocated"));
        feed_all(*alone, prompt, 6);
        feed_all(*alone, std::vector<std::int32_t>{10 + i, 20 + i, 30 + i, 40 + i}, 1);
        DecodeSession& branch = *branches[static_cast<std::size_t>(i)];
        EXPECT_EQ(all_cells(branch), all_cells(*alone));
        const std::vector<std::int32_t> next = {5};
        EXPECT_EQ(last_logits(branch, next, 1), last_logits(*alone, next, 1));
    }
}

// The parent goes first: its branch must still hold what it forked from.
TEST(PagedSession, ABranchOutlivesItsParent) {
    const auto on_cpu = loaded(make_tiny_llama());
    const auto prompt = random_tokens(7, 97, 35);
    auto parent = session_of(on_cpu, session_config("paged:page=4"));
    feed_all(*parent, prompt, 7);
    const auto cells = all_cells(*parent);
    auto fork = parent->fork();
    ASSERT_TRUE(fork.ok());
    ASSERT_TRUE(parent->reset().ok());
    feed_all(*parent, random_tokens(20, 97, 36), 20);
    EXPECT_EQ(all_cells(**fork), cells);
    parent.reset();
    EXPECT_EQ(all_cells(**fork), cells);
    EXPECT_EQ((*fork)->kv_facts().pages_shared, 0);
    EXPECT_EQ((*fork)->kv_facts().pages_free, 30);
}

TEST(PagedSession, CC06_TruncateAndFeedAgain) {
    const auto model = make_tiny_llama();
    const auto on_cpu = loaded(model);
    const auto tokens = random_tokens(24, 97, 37);
    for (const char* cache : kPages) {
        for (const std::int64_t kept : {0, 3, 8, 15, 16, 21}) {
            SCOPED_TRACE(fmt::format("{} {}", cache, kept));
            const auto session = session_of(on_cpu, session_config(cache));
            feed_all(*session, std::span(tokens).first(22), 22);
            ASSERT_TRUE(session->truncate(kept).ok());
            auto changed = tokens;
            for (auto i = static_cast<std::size_t>(kept); i < changed.size(); ++i) changed[i] = (changed[i] + 1) % 97;
            const auto oracle = run_oracle(*model, changed);
            const auto logits = last_logits(*session, std::span(changed).subspan(static_cast<std::size_t>(kept)), 5);
            EXPECT_LE(relative_error(logits, oracle.logits.back()), kExact);
        }
    }
}

// A pool for one run gets more pages for branches; one whose size was chosen refuses and goes on.
TEST(PagedSession, BranchesMayNeedMorePages) {
    const auto on_cpu = loaded(make_tiny_llama());
    const auto tokens = random_tokens(12, 97, 38);
    for (const bool fixed : {false, true}) {
        SCOPED_TRACE(fixed);
        SessionConfig config = session_config(fixed ? "paged:page=4,pages=3" : "paged:page=4");
        config.expected_tokens = 12;
        const auto a = session_of(on_cpu, config);
        feed_all(*a, std::span(tokens).first(10), 10);
        const auto cells = all_cells(*a);
        auto b = a->fork();
        ASSERT_TRUE(b.ok());
        auto pass = (*b)->feed(std::span(tokens).subspan(10, 1), {});
        EXPECT_EQ(pass.ok(), !fixed);
        EXPECT_EQ(all_cells(*a), cells);
        if (fixed) {
            EXPECT_EQ(pass.error().kind, ErrorKind::Capacity);
            EXPECT_THAT(pass.error().message, HasSubstr("0 of 3 are free"));
            *b = nullptr;
            const auto alone = session_of(on_cpu, session_config("preallocated"));
            feed_all(*alone, std::span(tokens).first(10), 10);
            EXPECT_EQ(last_logits(*a, std::span(tokens).subspan(10), 1),
                      last_logits(*alone, std::span(tokens).subspan(10), 1));
            continue;
        }
        EXPECT_EQ((*b)->kv_facts().pool_bytes, 2 * (*a).kv_facts().reserved_bytes);
        EXPECT_GT(pass->kv.peak_bytes, pass->kv.reserved_bytes);
        const auto alone = session_of(on_cpu, session_config("preallocated"));
        feed_all(*alone, std::span(tokens).first(10), 10);
        feed_all(*alone, std::span(tokens).subspan(10, 1), 1);
        EXPECT_EQ(all_cells(**b), all_cells(*alone));
    }
}

// PG-11: the pool grows layer by layer; memory runs out at each of them.
TEST(PagedSession, AllocationFailsWhereverThePoolGrows) {
    const auto model = make_tiny_llama();
    const auto tokens = random_tokens(12, 97, 49);
    const auto alone = session_of(loaded(model), session_config("preallocated"));
    feed_all(*alone, std::span(tokens).first(10), 10);
    feed_all(*alone, std::span(tokens).subspan(10), 1);
    for (std::int64_t at = 1; at <= model->config.layers; ++at) {
        SCOPED_TRACE(at);
        Probed probed(model);
        SessionConfig config = session_config("paged:page=4");
        config.expected_tokens = 12;
        const auto a = session_of(probed.model, config);
        feed_all(*a, std::span(tokens).first(10), 10);
        auto b = a->fork();
        ASSERT_TRUE(b.ok());
        const auto cells = all_cells(*a);
        probed.backend->fail_allocation(at);
        auto pass = (*b)->feed(std::span(tokens).subspan(10, 1), {});
        ASSERT_FALSE(pass.ok());
        EXPECT_EQ(pass.error().kind, ErrorKind::Memory);
        EXPECT_EQ((*b)->tokens().size(), 10u);
        EXPECT_EQ(all_cells(*a), cells);
        EXPECT_EQ(all_cells(**b), cells);
        for (DecodeSession* session : {a.get(), b->get()}) {
            feed_all(*session, std::span(tokens).subspan(10), 1);
            EXPECT_EQ(all_cells(*session), all_cells(*alone));
        }
    }
}

// Replaces the block table that the backend is given.
std::function<void(StepInputs&)> with_table(std::shared_ptr<std::vector<std::int32_t>> table,
                                            const std::function<void(std::vector<std::int32_t>&)>& change) {
    auto views = std::make_shared<std::vector<KvView>>();
    auto sequence = std::make_shared<SequenceRows>();
    return [=](StepInputs& inputs) {
        *sequence = inputs.sequences.front();
        views->assign(sequence->views.begin(), sequence->views.end());
        const EntryTable& given = views->front().table;
        table->assign(given.pages, given.pages + (given.count + 3) / 4);
        change(*table);
        for (auto& view : *views) view.table.pages = table->data();
        sequence->views = *views;
        inputs.sequences = {sequence.get(), 1};
    };
}

TEST(PagedPlantedBug, WritingIntoASharedPageIsSeen) {
    for (const bool planted : {false, true}) {
        Probed probed(make_tiny_llama());
        const auto prompt = random_tokens(6, 97, 47);
        const auto a = session_of(probed.model, session_config("paged:page=4"));
        feed_all(*a, prompt, 6);
        feed_all(*a, std::vector<std::int32_t>{1}, 1);
        auto b = a->fork();
        ASSERT_TRUE(b.ok());
        ASSERT_TRUE((*b)->truncate(6).ok());
        const auto before = all_cells(*a);
        if (planted)
            probed.backend->on_run = with_table(std::make_shared<std::vector<std::int32_t>>(),
                                                [](std::vector<std::int32_t>& pages) { pages[1] = 1; });
        feed_all(**b, std::vector<std::int32_t>{2}, 1);
        EXPECT_EQ(all_cells(*a) == before, !planted);
    }
}

TEST(PagedPlantedBug, AStalePageAfterTruncateIsSeen) {
    const auto model = make_tiny_llama();
    auto tokens = random_tokens(20, 97, 48);
    for (const bool planted : {false, true}) {
        Probed probed(model);
        const auto session = session_of(probed.model, session_config("paged:page=4"));
        feed_all(*session, tokens, 4);
        auto changed = tokens;
        for (std::size_t i = 6; i < changed.size(); ++i) changed[i] = (changed[i] + 5) % 97;
        const auto oracle = run_oracle(*model, changed);
        ASSERT_TRUE(session->truncate(6).ok());
        feed_all(*session, std::span(changed).subspan(6, 13), 4);
        if (planted)  // the page that was given back; the debug build has filled it with NaN, and the pass is refused
            probed.backend->on_run = with_table(std::make_shared<std::vector<std::int32_t>>(),
                                                [](std::vector<std::int32_t>& pages) { pages[2] = 2; });
        auto pass = session->feed(std::span(changed).subspan(19), {});
        const bool seen = !pass.ok() || relative_error(std::vector<float>(pass->logits.begin(), pass->logits.end()),
                                                       oracle.logits.back()) > 100 * kExact;
        EXPECT_EQ(seen, planted);
    }
}

}  // namespace
}  // namespace decodescope
