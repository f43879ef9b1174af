#include "tests/engine/trace/recording_file_fixture.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "engine/support/hash.h"
#include "engine/trace/recording_codec.h"

namespace decodescope {
namespace {

void expect_same_rows(const RunRecording& a, const RunRecording& b) {
    ASSERT_EQ(a.row_count(), b.row_count());
    for (std::int32_t r = 0; r < a.row_count(); ++r) {
        const TokenRow &x = a.row(r), &y = b.row(r);
        EXPECT_EQ(std::tie(x.token, x.position, x.step, x.phase, x.generated, x.special),
                  std::tie(y.token, y.position, y.step, y.phase, y.generated, y.special));
        EXPECT_EQ(a.row_display(r), b.row_display(r));
        EXPECT_EQ(a.row_text(r), b.row_text(r));
        EXPECT_EQ(a.attention_left_out(r), b.attention_left_out(r));
        for (std::int32_t layer = 0; layer < a.facts().config.layers; ++layer) {
            const auto bits = [](float value) { return std::bit_cast<std::uint32_t>(value); };
            EXPECT_EQ(bits(a.k_rms(r, layer)), bits(b.k_rms(r, layer)));
            EXPECT_EQ(bits(a.v_rms(r, layer)), bits(b.v_rms(r, layer)));
            const AttentionRow p = a.attention(r, layer), q = b.attention(r, layer);
            EXPECT_EQ(std::tie(p.captured, p.heads, p.entries), std::tie(q.captured, q.heads, q.entries));
            EXPECT_TRUE(std::equal(p.weights.begin(), p.weights.end(), q.weights.begin(), q.weights.end()));
            EXPECT_TRUE(std::equal(p.positions.begin(), p.positions.end(), q.positions.begin(), q.positions.end()));
        }
    }
}

Bytes encoded_steps(const RunRecording& recording) {
    ByteWriter out;
    for (std::int32_t s = 0; s < recording.step_count(); ++s) encode_step(out, *recording.step(s));
    for (std::int32_t i = 0; i < recording.race_count(); ++i) encode_race_point(out, recording.race_point(i));
    encode_facts(out, recording.facts());
    return {reinterpret_cast<const char*>(out.bytes().data()), out.size()};
}

void expect_same(const RunRecording& a, const RunRecording& b) {
    expect_same_rows(a, b);
    EXPECT_EQ(a.step_count(), b.step_count());
    EXPECT_EQ(a.race_count(), b.race_count());
    EXPECT_EQ(encoded_steps(a), encoded_steps(b));
    EXPECT_EQ(a.named_tokens(), b.named_tokens());
    for (std::int32_t token : a.named_tokens()) EXPECT_EQ(a.token_display(token), b.token_display(token));
    EXPECT_EQ(a.rows_without_attention(), b.rows_without_attention());
}

// Figures of pages follow only where there are pages: other files stay as they were.
TEST(RecordingCodec, FiguresOfPagesComeBack) {
    const auto recording = make_fake_run({});
    StepFacts step = *recording->step(1);
    const auto encoded = [](const StepFacts& facts) {
        ByteWriter out;
        encode_step(out, facts);
        return std::vector<std::byte>(out.bytes().begin(), out.bytes().end());
    };
    const auto plain = encoded(step);
    step.kv.page_tokens = 16;
    step.kv.pages_used = 7;
    step.kv.pages_shared = 3;
    step.kv.pages_copied = 1;
    step.kv.pages_free = 5;
    step.kv.pool_bytes = 1234;
    for (const bool captured : {false, true}) {
        step.captured = captured;
        const auto bytes = encoded(step);
        EXPECT_EQ(bytes.size(), plain.size() + 6 * 8);
        ByteReader in(bytes, "test");
        const StepFacts back = decode_step(in, recording->facts(), recording->row_count(), recording->step_count());
        ASSERT_TRUE(in.ok()) << in.error();
        EXPECT_EQ(back.captured, captured);
        const auto& kv = back.kv;
        EXPECT_EQ(std::tie(kv.page_tokens, kv.pages_used, kv.pages_shared, kv.pages_copied, kv.pages_free,
                           kv.pool_bytes),
                  std::tie(step.kv.page_tokens, step.kv.pages_used, step.kv.pages_shared, step.kv.pages_copied,
                           step.kv.pages_free, step.kv.pool_bytes));
    }
}

TEST_F(RecordingFile, RoundTripIsExact) {
    for (const char* cache : {"preallocated", "growing", "ring", "paged"}) {
        FakeRunOptions options;
        options.language = "zh_CN";
        options.cache = cache;
        options.window = options.cache == "ring" ? 7 : 0;
        options.shared_pages = 1;
        options.steps = 60;
        options.attention_bytes = 60000;  // the last rows are left out
        const auto recording = make_fake_run(options);
        ASSERT_TRUE(save_recording(*recording, path(), {}, {}).ok());
        const auto loaded = load_recording(path(), {}, {});
        ASSERT_TRUE(loaded.ok()) << loaded.error().text();
        expect_same(*recording, **loaded);
        EXPECT_GT((*loaded)->rows_without_attention(), options.window > 0 ? -1 : 0);
        EXPECT_EQ((*loaded)->evicted_at(3, 60), recording->evicted_at(3, 60));
        ASSERT_TRUE(
            save_recording(**loaded, path("again.dscope"), {}, {}).ok());  // also over nothing and from a loaded run
        EXPECT_EQ(read(path()), read(path("again.dscope")));
    }
}

TEST_F(RecordingFile, LoadedRunGoesOnGrowing) {
    FakeRunOptions options;
    ASSERT_TRUE(save_recording(*make_fake_run(options), path(), {}, {}).ok());
    const auto loaded = load_recording(path(), {}, {});
    append_fake_step(**loaded, options);
    EXPECT_EQ((*loaded)->step_count(), options.steps + 2);
}

TEST_F(RecordingFile, RowsOfAnUnfinishedStepStayOut) {
    FakeRunOptions options;
    const auto recording = make_fake_run(options);
    RunRecording::NewRow row;
    row.row.step = recording->step_count();
    row.row.position = recording->row_count();
    recording->append_row(row, {}, {}, {}, 0, {});
    RacePoint early;
    early.step = recording->step_count();
    recording->append_race_point(early);
    ASSERT_TRUE(save_recording(*recording, path(), {}, {}).ok());
    const auto loaded = load_recording(path(), {}, {});
    ASSERT_TRUE(loaded.ok()) << loaded.error().text();
    EXPECT_EQ((*loaded)->row_count(), recording->row_count() - 1);
    EXPECT_EQ((*loaded)->race_count(), recording->race_count() - 1);
}

TEST_F(RecordingFile, ProgressEndsAtItsTotalAndCancelLeavesNothing) {
    FakeRunOptions options;
    options.steps = 400;
    const auto recording = make_fake_run(options);
    std::int64_t done = -1, total = 0, calls = 0;
    const ProgressFn progress = [&](std::int64_t d, std::int64_t t) { done = d, total = t, ++calls; };
    ASSERT_TRUE(save_recording(*recording, path(), progress, {}).ok());
    EXPECT_EQ(done, total);
    EXPECT_GE(calls, 2);
    ASSERT_TRUE(load_recording(path(), progress, {}).ok());
    EXPECT_LE(done, total);
    const Bytes before = read(path());
    std::stop_source stop;
    const Status cancelled = save_recording(
        *recording, path(), [&](std::int64_t, std::int64_t) { stop.request_stop(); }, stop.get_token());
    ASSERT_FALSE(cancelled.ok());
    EXPECT_EQ(cancelled.error().kind, ErrorKind::Cancelled);
    EXPECT_EQ(read(path()), before);
    EXPECT_EQ(names(), std::vector<std::string>{"run.dscope"});
    EXPECT_EQ(load_recording(path(), {}, stop.get_token()).error().kind, ErrorKind::Cancelled);
}

// ---- SS-05: crash or full disk during a save ----

TEST_F(RecordingFile, FullDiskIsAnErrorAndTheOldFileStays) {
    const Bytes before = small_file();
    FakeRunOptions options;
    options.steps = 200;
    const auto recording = make_fake_run(options);
    rlimit old{};
    ::getrlimit(RLIMIT_FSIZE, &old);
    auto* const handler = ::signal(SIGXFSZ, SIG_IGN);
    const rlimit small{100000, old.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    const Status status = save_recording(*recording, path(), {}, {});
    ::setrlimit(RLIMIT_FSIZE, &old);
    ::signal(SIGXFSZ, handler);
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().kind, ErrorKind::File);
    EXPECT_NE(status.error().message.find(path()), std::string::npos);
    EXPECT_EQ(read(path()), before);
    EXPECT_EQ(names(), std::vector<std::string>{"run.dscope"});
    EXPECT_TRUE(save_recording(*recording, path(), {}, {}).ok());  // and once there is room, over the old file
    EXPECT_TRUE(load_recording(path(), {}, {}).ok());
}

TEST_F(RecordingFile, DeviceWithoutSpaceIsAnError) {
    const Status status = save_recording(*make_fake_run({}), "/dev/full", {}, {});
    ASSERT_FALSE(status.ok());
    EXPECT_NE(status.error().message.find("No space left"), std::string::npos) << status.error().message;
    EXPECT_TRUE(fs::is_character_file("/dev/full"));
}

TEST_F(RecordingFile, UnusableTargetsAreNamed) {
    const auto recording = make_fake_run({});
    const std::string targets[] = {path("no/such/folder/run.dscope"), folder_.string(), ""};
    for (const std::string& target : targets) {
        const Status status = save_recording(*recording, target, {}, {});
        ASSERT_FALSE(status.ok()) << target;
        EXPECT_EQ(status.error().kind, ErrorKind::File);
    }
    EXPECT_TRUE(names().empty());
    EXPECT_EQ(load_recording(path("missing.dscope"), {}, {}).error().kind, ErrorKind::File);
    EXPECT_EQ(load_recording(folder_.string(), {}, {}).error().kind, ErrorKind::File);
}

TEST_F(RecordingFile, LinkIsFollowed) {
    small_file();
    fs::create_symlink(path(), folder_ / "link.dscope");
    FakeRunOptions options;
    options.steps = 5;
    ASSERT_TRUE(save_recording(*make_fake_run(options), path("link.dscope"), {}, {}).ok());
    EXPECT_TRUE(fs::is_symlink(folder_ / "link.dscope"));
    EXPECT_EQ((*load_recording(path(), {}, {}))->step_count(), 6);
}

TEST_F(RecordingFile, StalePartialFilesAreCleanedAndLiveOnesKept) {
    const pid_t gone = ::fork();
    if (gone == 0) ::_exit(0);
    ::waitpid(gone, nullptr, 0);
    const std::string stale = fmt::format(".run.dscope.{}-0.partial", gone);
    const std::string live = fmt::format(".run.dscope.{}-0.partial", ::getppid());
    const std::string other = fmt::format(".other.dscope.{}-0.partial", gone);
    const std::string strange = ".run.dscope.x-0.partial";
    for (const std::string& name : {stale, live, other, strange}) write("half a recording", name.c_str());
    small_file();
    EXPECT_FALSE(fs::exists(folder_ / stale));
    for (const std::string& name : {live, other, strange}) EXPECT_TRUE(fs::exists(folder_ / name)) << name;
}

TEST_F(RecordingFile, KilledWhileSavingTheOldOrTheNewFileLoads) {
    FakeRunOptions options;
    options.steps = 250;
    const auto recording = make_fake_run(options);
    ASSERT_TRUE(save_recording(*recording, path(), {}, {}).ok());
    std::mt19937 random(7);
    for (int round = 0; round < 10; ++round) {
        const pid_t child = ::fork();
        if (child == 0)
            for (;;) static_cast<void>(save_recording(*recording, path(), {}, {}));
        ::usleep(random() % 30000);
        ::kill(child, SIGKILL);
        ::waitpid(child, nullptr, 0);
        const auto loaded = load_recording(path(), {}, {});
        ASSERT_TRUE(loaded.ok()) << loaded.error().text();
        EXPECT_EQ((*loaded)->row_count(), recording->row_count());
    }
    ASSERT_TRUE(save_recording(*recording, path(), {}, {}).ok());
    EXPECT_EQ(names(), std::vector<std::string>{"run.dscope"});  // what the killed ones left is gone
}

}  // namespace
}  // namespace decodescope
