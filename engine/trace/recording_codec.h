// The sections of a recording file and the records in them.
//
//   header   magic (8 bytes), version u32, zero u32
//   section  name (4 letters), zero u32, payload size u64, xxh64 of the payload u64, payload
//   ...      FACT, then any number of ROWS, STEP, RACE and NAME blocks, each with its record count first
//   trailer  magic (8 bytes), file size u64, sections u64, rows u64, steps u64, race points u64, names u64,
//            xxh64 of everything before it u64
//
// All numbers are little-endian, counts are u64, texts are u32 length and bytes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/trace/byte_stream.h"
#include "engine/trace/run_recording.h"

namespace decodescope {

constexpr std::uint32_t kRecordingVersion = 1;
constexpr std::string_view kRecordingMagic("DSCOPE\x1A\n", 8);  // a transfer in text mode changes the end
constexpr std::string_view kTrailerMagic("DSCOPEND", 8);
constexpr std::size_t kRecordingHeaderBytes = 16, kSectionHeaderBytes = 24, kTrailerBytes = 64;

// Bounds that a recording keeps, so that a file cannot ask for absurd amounts.
constexpr std::int32_t kMaxPosition = (1 << 20) - 1;
constexpr std::int64_t kMaxLayers = 1 << 12, kMaxHeads = 1 << 12, kMaxWidth = std::int64_t{1} << 32;

// Fields that rows, steps and facts have in common.
template <class Enum>
Enum decode_enum(ByteReader& in, const char* field, Enum last) {
    const std::uint8_t value = in.u8(field);
    if (value > static_cast<std::uint8_t>(last)) in.fail(field, "is not a value that this version knows");
    return in.ok() ? static_cast<Enum>(value) : last;
}

inline std::int32_t highest_token(const RunFacts& facts) {
    return static_cast<std::int32_t>(std::max<std::int64_t>(facts.config.vocabulary, 1) - 1);
}

void encode_facts(ByteWriter& out, const RunFacts& facts);
RunFacts decode_facts(ByteReader& in);

void encode_row(ByteWriter& out, const RunRecording& recording, std::int32_t index);
// Reads one row and appends it. `steps`: number of steps of the file.
void decode_row(ByteReader& in, RunRecording& to, std::int64_t steps);
constexpr std::size_t kSmallestRowBytes = 26;

void encode_step(ByteWriter& out, const StepFacts& step);
StepFacts decode_step(ByteReader& in, const RunFacts& facts, std::int64_t rows, std::int64_t steps);
constexpr std::size_t kSmallestStepBytes = 191;

void encode_race_point(ByteWriter& out, const RacePoint& point);
RacePoint decode_race_point(ByteReader& in, std::int64_t steps);
constexpr std::size_t kRacePointBytes = 34;

constexpr std::size_t kSmallestNameBytes = 8;

}  // namespace decodescope
