// LD-01 to LD-06, LD-17: what a safetensors header may say. A fault must be refused with the tensor and the reason.
#include "engine/model/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

std::span<const std::byte> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

std::string refusal(const std::string& file) {
    const auto header = read_safetensors(bytes_of(file), "x.safetensors");
    return header ? "accepted" : header.error().message;
}
std::string refusal(const std::string& header, std::size_t data_bytes) {
    return refusal(safetensors_bytes(header, std::string(data_bytes, '\0')));
}

std::string with_length(std::uint64_t length, std::size_t size) {
    std::string out(size, ' ');
    for (std::size_t i = 0; i < 8 && i < size; ++i) out[i] = static_cast<char>(length >> (8 * i));
    return out;
}

TEST(SafetensorsHeader, LengthIsComparedWithTheFileBeforeItIsUsed) {  // LD-01
    const std::size_t size = 4096;
    for (const std::uint64_t length :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{7}, std::uint64_t{size}, std::uint64_t{size - 7},
          std::uint64_t{1} << 31, std::uint64_t{1} << 63, ~std::uint64_t{0}, ~std::uint64_t{0} - 4})
        EXPECT_THAT(refusal(with_length(length, size)), testing::Not("accepted")) << length;
    EXPECT_THAT(refusal(with_length(std::uint64_t{1} << 63, size)),
                HasSubstr("9223372036854775808 bytes in a file of 4096"));
    EXPECT_THAT(refusal(std::string()), HasSubstr("0 bytes are too few"));
    EXPECT_THAT(refusal(std::string(7, '{')), HasSubstr("7 bytes are too few"));
}

TEST(SafetensorsHeader, LengthIsCappedAsInTheReferenceLibrary) {  // LD-01
    // The span claims a size that no page stands behind: reading more than the length would crash.
    static const std::string start = with_length(100'000'001, 16);
    const auto header = read_safetensors({reinterpret_cast<const std::byte*>(start.data()), std::size_t{1} << 40}, "x");
    ASSERT_FALSE(header.ok());
    EXPECT_THAT(header.error().message, HasSubstr("100000001"));
    EXPECT_THAT(header.error().message, HasSubstr("at most 100000000"));
}

TEST(SafetensorsHeader, NoJsonIsRefused) {
    EXPECT_THAT(refusal("[1, 2]  ", 0), HasSubstr("'{'"));
    EXPECT_THAT(refusal("{\"a\": ", 0), HasSubstr("not valid JSON"));
    EXPECT_THAT(refusal("{\"a\\ud800\": 1}", 0), HasSubstr("not valid JSON"));
    EXPECT_THAT(refusal("{\"a\": [[[[[[[[[[[[1]]]]]]]]]]]]}", 0), HasSubstr("nested"));
    EXPECT_THAT(refusal("{\"a\": 5}", 0), HasSubstr("\"a\""));
    EXPECT_THAT(refusal("{\"__metadata__\": {\"format\": 5}}", 0), HasSubstr("metadata"));
    EXPECT_EQ(refusal("{}", 0), "accepted");
    EXPECT_EQ(refusal("{\"__metadata__\": {\"format\": \"pt\"}}   ", 0), "accepted");
}

TEST(SafetensorsHeader, OffsetsMustFitShapeTypeAndFile) {  // LD-02
    const auto one = [](const std::string& offsets) {
        return refusal("{\"w\": {\"dtype\": \"F32\", \"shape\": [2, 2], \"data_offsets\": " + offsets + "}}", 16);
    };
    EXPECT_EQ(one("[0, 16]"), "accepted");
    EXPECT_THAT(one("[16, 0]"), HasSubstr("\"w\": its data begins at 16 and ends at 0"));
    EXPECT_THAT(one("[0, 20]"), HasSubstr("ends at 20, the file's at 16"));
    EXPECT_THAT(one("[0]"), HasSubstr("not two numbers"));
    EXPECT_THAT(one("[0, 8, 16]"), HasSubstr("not two numbers"));
    EXPECT_THAT(one("[-16, 0]"), HasSubstr("-16"));
    EXPECT_THAT(one("[0.0, 16.5]"), testing::Not("accepted"));
    EXPECT_THAT(one("[\"0\", \"16\"]"), HasSubstr("\"0\""));
    EXPECT_THAT(one("[0, 12]"), HasSubstr("shape [2, 2] of F32 needs 16 bytes, its data has 12"));
    EXPECT_THAT(one("[0, 18446744073709551615]"), testing::Not("accepted"));
    EXPECT_THAT(one("null"), HasSubstr("null"));
    EXPECT_THAT(refusal("{\"w\": {\"dtype\": \"F32\", \"shape\": [2, 2]}}", 16),
                HasSubstr("\"data_offsets\" is missing"));
    EXPECT_THAT(refusal("{\"w\": {\"dtype\": \"F32\", \"data_offsets\": [0, 16]}}", 16),
                HasSubstr("\"shape\" is missing"));
    EXPECT_THAT(refusal("{\"w\": {\"shape\": [2, 2], \"data_offsets\": [0, 16]}}", 16),
                HasSubstr("\"dtype\" is missing"));
    EXPECT_THAT(refusal("{\"w\": {\"dtype\": \"F32\", \"shape\": [1000, 1000], \"data_offsets\": [0, 4]}}", 4),
                HasSubstr("needs 4000000 bytes, its data has 4"));
}

std::string two(const char* first, const char* second) {
    const auto entry = [](const char* name, const char* offsets) {
        return std::string("\"") + name + "\": {\"dtype\": \"F32\", \"shape\": [4], \"data_offsets\": " + offsets + "}";
    };
    return "{" + entry("a", first) + ", " + entry("b", second) + "}";
}

TEST(SafetensorsHeader, EveryByteBelongsToExactlyOneTensor) {  // LD-03
    EXPECT_THAT(refusal(two("[0, 16]", "[0, 16]"), 16), HasSubstr("overlaps that of"));
    EXPECT_THAT(refusal(two("[0, 16]", "[8, 24]"), 24), HasSubstr("overlaps"));
    EXPECT_THAT(refusal(two("[0, 16]", "[32, 48]"), 48), HasSubstr("a hole of 16 bytes"));
    EXPECT_THAT(refusal(two("[0, 16]", "[16, 32]"), 33), HasSubstr("1 trailing bytes"));
    EXPECT_EQ(refusal(two("[16, 32]", "[0, 16]"), 32), "accepted") << "the header's order is free";
}

TEST(SafetensorsHeader, RepeatedKeysAreNamed) {  // LD-04
    const std::string entry = "{\"dtype\": \"F32\", \"shape\": [4], \"data_offsets\": [0, 16]}";
    const std::string other = "{\"dtype\": \"F32\", \"shape\": [4], \"data_offsets\": [16, 32]}";
    EXPECT_THAT(refusal("{\"w\": " + entry + ", \"w\": " + other + "}", 32), HasSubstr("duplicate key \"w\""));
    EXPECT_THAT(
        refusal("{\"w\": {\"dtype\": \"F32\", \"dtype\": \"F16\", \"shape\": [4], \"data_offsets\": [0, 16]}}", 16),
        HasSubstr("duplicate key \"dtype\""));
}

TEST(SafetensorsHeader, UnknownTypesAreRefusedAndKnownOnesCounted) {  // LD-05
    const auto typed = [](const std::string& dtype, std::size_t bytes) {
        return refusal(
            "{\"w\": {\"dtype\": " + dtype + ", \"shape\": [4], \"data_offsets\": [0, " + std::to_string(bytes) + "]}}",
            bytes);
    };
    EXPECT_THAT(typed("\"F99\"", 16), HasSubstr("unknown dtype \"F99\""));
    EXPECT_THAT(typed("\"\"", 16), HasSubstr("unknown dtype"));
    EXPECT_THAT(typed("5", 16), HasSubstr("dtype is 5"));
    EXPECT_EQ(typed("\"I64\"", 32), "accepted");
    EXPECT_EQ(typed("\"BF16\"", 8), "accepted");
    EXPECT_THAT(typed("\"BF16\"", 16), HasSubstr("needs 8 bytes"));
    EXPECT_EQ(element_type_of("BF16"), ElementType::BF16);
    EXPECT_EQ(element_type_of("F16"), ElementType::F16);
    EXPECT_EQ(element_type_of("F32"), ElementType::F32);
    EXPECT_FALSE(element_type_of("I64").has_value());
}

TEST(SafetensorsHeader, ElementCountsCannotOverflow) {  // LD-06
    const auto shaped = [](const std::string& shape, std::size_t bytes) {
        return refusal("{\"w\": {\"dtype\": \"F32\", \"shape\": " + shape + ", \"data_offsets\": [0, " +
                           std::to_string(bytes) + "]}}",
                       bytes);
    };
    EXPECT_THAT(shaped("[4294967296, 4294967296]", 0), HasSubstr("more than can be counted"));
    EXPECT_THAT(shaped("[9223372036854775808, 2]", 0), testing::Not("accepted"));
    EXPECT_THAT(shaped("[9223372036854775807, 2]", 0), HasSubstr("more than can be counted"));
    EXPECT_THAT(shaped("[4611686018427387904, 4]", 0), HasSubstr("more than can be counted"));
    EXPECT_EQ(shaped("[0, 5]", 0), "accepted");
    EXPECT_EQ(shaped("[4294967296, 4294967296, 0]", 0), "accepted");
    EXPECT_EQ(shaped("[]", 4), "accepted") << "a single number";
    EXPECT_THAT(shaped("[1, 1, 1, 1, 1, 1, 1, 1, 1]", 4), HasSubstr("9 dimensions"));
    EXPECT_THAT(shaped("[-1]", 4), HasSubstr("-1"));
    EXPECT_THAT(shaped("[1e309]", 4), testing::Not("accepted"));
    EXPECT_THAT(shaped("4", 4), HasSubstr("not a list"));
}

TEST(SafetensorsHeader, ManyTensorsAreReadInOnePass) {  // LD-17; the time is measured by a benchmark
    std::string header = "{", closing;
    const int count = 20000;
    for (int i = 0; i < count; ++i) {
        header += closing + "\"layer." + std::to_string(i) +
                  ".weight\": {\"dtype\": \"F16\", \"shape\": [1, 2], \"data_offsets\": [" + std::to_string(4 * i) +
                  ", " + std::to_string(4 * i + 4) + "]}";
        closing = ", ";
    }
    const std::string file = safetensors_bytes(header + "}", std::string(4 * count, 'x'));
    const auto parsed = read_safetensors(bytes_of(file), "many");
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    ASSERT_EQ(parsed->entries.size(), static_cast<std::size_t>(count));
    EXPECT_EQ(parsed->entries[12345].begin, 4 * 12345);
    EXPECT_EQ(parsed->data_offset + 4 * count, static_cast<std::int64_t>(file.size()));
}

}  // namespace
}  // namespace decodescope
