// Damaged and forged recordings are refused by name, whatever was changed, before memory is taken for them.
#include <fmt/format.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "engine/support/hash.h"
#include "engine/trace/recording_codec.h"
#include "tests/engine/trace/recording_file_fixture.h"

namespace decodescope {
namespace {

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
    text_mode.insert(7, 1, '\r');  // "\n" became "\r\n"
    EXPECT_NE(refusal(text_mode).find("does not begin"), std::string::npos);
}

}  // namespace
}  // namespace decodescope
