#include "engine/trace/recording_file.h"

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
#include <filesystem>
#include <fstream>
#include <random>

#include "engine/support/hash.h"
#include "engine/trace/recording_codec.h"
#include "tests/support/fake_run.h"

namespace decodescope {
namespace {

namespace fs = std::filesystem;
using Bytes = std::string;

class RecordingFile : public ::testing::Test {
protected:
    void SetUp() override {
        const fs::path memory = "/dev/shm";  // thousands of small files: not through a disk where that can be avoided
        const bool usable = ::access(memory.c_str(), W_OK) == 0;
        folder_ = (usable ? memory : fs::path(::testing::TempDir())) /
                  ("decodescope_recording_" + std::to_string(::getpid()));
        fs::create_directories(folder_);
    }
    void TearDown() override { fs::remove_all(folder_); }

    std::string path(const char* name = "run.dscope") const { return (folder_ / name).string(); }
    std::vector<std::string> names() const {
        std::vector<std::string> result;
        for (const auto& entry : fs::directory_iterator(folder_)) result.push_back(entry.path().filename().string());
        return result;
    }
    static Bytes read(const std::string& path) {
        std::ifstream in(path, std::ios::binary);
        return {std::istreambuf_iterator<char>(in), {}};
    }
    void write(const Bytes& bytes, const char* name = "damaged.dscope") const {
        std::ofstream(path(name), std::ios::binary) << bytes;
    }
    Bytes small_file() const {
        FakeRunOptions options;
        options.steps = 3;
        options.prompt_tokens = 4;
        options.layers = 2;
        options.heads = 2;
        options.kv_heads = 1;
        EXPECT_TRUE(save_recording(*make_fake_run(options), path(), {}, {}).ok());
        return read(path());
    }
    // The sentence with which these bytes are refused; "" when they are accepted.
    std::string refusal(const Bytes& bytes) const {
        write(bytes);
        const auto loaded = load_recording(path("damaged.dscope"), {}, {});
        return loaded.ok() ? "" : loaded.error().message;
    }

    fs::path folder_;
};

void put_u64(Bytes& bytes, std::size_t at, std::uint64_t value) {
    for (int i = 0; i < 8; ++i) bytes[at + static_cast<std::size_t>(i)] = static_cast<char>(value >> (8 * i));
}

std::uint64_t get_u64(const Bytes& bytes, std::size_t at) {
    std::uint64_t value = 0;
    for (int i = 7; i >= 0; --i)
        value = value << 8 | static_cast<unsigned char>(bytes[at + static_cast<std::size_t>(i)]);
    return value;
}

std::string_view view(const Bytes& bytes) { return bytes; }

struct SectionPlace {
    std::string name;
    std::size_t header = 0, payload = 0, size = 0;
};

std::vector<SectionPlace> sections_of(const Bytes& bytes) {
    std::vector<SectionPlace> result;
    for (std::size_t at = kRecordingHeaderBytes; at < bytes.size() - kTrailerBytes;) {
        SectionPlace place{bytes.substr(at, 4), at, at + kSectionHeaderBytes, get_u64(bytes, at + 8)};
        at = place.payload + place.size;
        result.push_back(place);
    }
    return result;
}

// A forger's file: every checksum is made right again.
Bytes with_right_checksums(Bytes bytes, const std::vector<SectionPlace>& places) {
    for (const SectionPlace& place : places)
        put_u64(bytes, place.header + 16, hash64(view(bytes).substr(place.payload, place.size)));
    put_u64(bytes, bytes.size() - 8, hash64(view(bytes).substr(0, bytes.size() - 8)));
    return bytes;
}

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
    for (const char* cache : {"preallocated", "growing", "ring"}) {
        FakeRunOptions options;
        options.language = "zh_CN";
        options.cache = cache;
        options.window = options.cache == "ring" ? 7 : 0;
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

// ---- SS-06: damaged and crafted files ----

TEST_F(RecordingFile, EveryFlippedByteIsRefused) {
    const Bytes good = small_file();
    ASSERT_EQ(refusal(good), "");
    std::mt19937 random(42);
    for (int i = 0; i < 200; ++i) {
        Bytes bytes = good;
        const std::size_t at = random() % bytes.size();
        bytes[at] = static_cast<char>(bytes[at] ^ static_cast<char>(1 + random() % 255));
        const std::string message = refusal(bytes);
        EXPECT_FALSE(message.empty()) << "byte " << at;
        const bool named =
            message.find("checksum") != std::string::npos || message.find("trailer") != std::string::npos ||
            message.find("header") != std::string::npos || message.find("section") != std::string::npos ||
            message.find("begin") != std::string::npos || message.find("version") != std::string::npos;
        EXPECT_TRUE(named) << message;
    }
}

TEST_F(RecordingFile, EveryCutAndEveryAdditionIsRefused) {
    const Bytes good = small_file();
    for (std::size_t size = 0; size < good.size(); size += 64) EXPECT_NE(refusal(good.substr(0, size)), "") << size;
    EXPECT_NE(refusal(good.substr(0, good.size() - 1)), "");
    EXPECT_NE(refusal(good + '\0'), "");
    EXPECT_NE(refusal(good + good), "");
}

TEST_F(RecordingFile, CraftedCountsAreRefusedByName) {
    const Bytes good = small_file();
    const auto places = sections_of(good);
    ASSERT_EQ(places.size(), 5u);
    constexpr std::uint64_t hostile[] = {0, std::uint64_t{1} << 31, std::uint64_t{1} << 63, ~std::uint64_t{0}};
    for (const SectionPlace& place : places) {
        if (place.name == "FACT") continue;
        for (std::uint64_t value : hostile) {
            Bytes bytes = good;
            put_u64(bytes, place.payload, value);
            const std::string message = refusal(with_right_checksums(bytes, places));
            EXPECT_NE(message.find("section " + place.name), std::string::npos)
                << place.name << " " << value << ": " << message;
        }
    }
    const std::size_t trailer = good.size() - kTrailerBytes + kTrailerMagic.size();
    for (std::size_t field = 0; field < 6; ++field)
        for (std::uint64_t value : hostile) {
            Bytes bytes = good;
            put_u64(bytes, trailer + 8 * field, value);
            const std::string message = refusal(with_right_checksums(bytes, places));
            EXPECT_FALSE(message.empty()) << field << " " << value;
        }
    for (const SectionPlace& place : places)
        for (std::uint64_t value : hostile) {
            Bytes bytes = good;
            put_u64(bytes, place.header + 8, value);
            EXPECT_NE(refusal(with_right_checksums(bytes, {})), "") << place.name << " size " << value;
        }
}

// A list inside a record is allocated only after its count was compared with the bytes that are left.
TEST_F(RecordingFile, CraftedCountsInsideARecordAreRefusedBeforeAllocation) {
    const Bytes good = small_file();
    const auto places = sections_of(good);
    const auto step =
        std::find_if(places.begin(), places.end(), [](const auto& place) { return place.name == "STEP"; });
    ASSERT_NE(step, places.end());
    constexpr std::size_t before_operations =
        8 + 159;  // count of steps; fields of the first step, whose texts are empty
    const std::size_t at = step->payload + before_operations;
    ASSERT_EQ(get_u64(good, at), 21u);  // stages of two layers
    for (const std::uint64_t value :
         {std::uint64_t{1} << 22, std::uint64_t{1} << 31, std::uint64_t{1} << 63, ~std::uint64_t{0}}) {
        Bytes bytes = good;
        put_u64(bytes, at, value);
        rusage before{}, after{};
        ::getrusage(RUSAGE_SELF, &before);
        const std::string message = refusal(with_right_checksums(bytes, places));
        ::getrusage(RUSAGE_SELF, &after);
        EXPECT_NE(message.find("section STEP, step 0: operations is " + std::to_string(value)), std::string::npos)
            << message;
        EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 10 * 1024);  // KiB
    }
}

// Any byte of any payload changed, all checksums right: accepted or refused, but never a crash, an overflow or an
// endless loop; what is accepted can be walked through.
TEST_F(RecordingFile, ForgedBytesNeverBreakTheReader) {
    const Bytes good = small_file();
    const auto places = sections_of(good);
    std::mt19937 random(11);
    int refused = 0;
    for (int i = 0; i < 1500; ++i) {
        Bytes bytes = good;
        const SectionPlace& place = places[random() % places.size()];
        const std::size_t at = place.payload + random() % place.size;
        constexpr unsigned char values[] = {0x00, 0x01, 0x7F, 0x80, 0xFF};
        bytes[at] = static_cast<char>(values[random() % 5]);
        write(with_right_checksums(bytes, places));
        const auto loaded = load_recording(path("damaged.dscope"), {}, {});
        if (!loaded.ok()) {
            ++refused;
            EXPECT_NE(loaded.error().message.find("section " + place.name), std::string::npos)
                << loaded.error().message;
            continue;
        }
        const RunRecording& recording = **loaded;
        for (std::int32_t s = 0; s < recording.step_count(); ++s) {
            const auto step = recording.step(s);
            for (std::int32_t r = step->first_row; r < step->first_row + step->row_count; ++r)
                for (std::int32_t layer = 0; layer < recording.facts().config.layers; ++layer) {
                    const AttentionRow row = recording.attention(r, layer);
                    for (std::int32_t e = 0; row.captured && e < row.entries; ++e) EXPECT_GE(row.position(e), 0);
                }
            for (const OpRecord& op : step->ops)
                EXPECT_LT(static_cast<std::size_t>(op.stage), recording.facts().stages.size());
        }
    }
    EXPECT_GT(refused, 200);
}

TEST_F(RecordingFile, MemoryStaysBoundedBeforeValidation) {
    Bytes bytes = small_file();
    const auto places = sections_of(bytes);
    for (const SectionPlace& place : places)
        if (place.name != "FACT")
            put_u64(bytes, place.payload, place.size / 26);  // the largest count that passes the first check
    rusage before{}, after{};
    ::getrusage(RUSAGE_SELF, &before);
    EXPECT_NE(refusal(with_right_checksums(bytes, places)), "");
    ::getrusage(RUSAGE_SELF, &after);
    EXPECT_LT(after.ru_maxrss - before.ru_maxrss, 10 * 1024);  // KiB
}

TEST_F(RecordingFile, NewerVersionIsRefusedByName) {
    Bytes bytes = small_file();
    bytes[8] = 2;
    const std::string message = refusal(with_right_checksums(bytes, sections_of(bytes)));
    EXPECT_NE(message.find("version 2"), std::string::npos) << message;
    EXPECT_NE(message.find("up to version 1"), std::string::npos) << message;
}

TEST_F(RecordingFile, OtherFilesAreRefused) {
    EXPECT_NE(refusal("").find("damaged.dscope"), std::string::npos);
    EXPECT_NE(refusal("hello").find("does not begin"), std::string::npos);
    EXPECT_NE(refusal(Bytes(5000, '\0')).find("does not begin"), std::string::npos);
    Bytes text_mode = small_file();
    text_mode.insert(7, "\r");  // "\n" became "\r\n"
    EXPECT_NE(refusal(text_mode).find("does not begin"), std::string::npos);
}

}  // namespace
}  // namespace decodescope
