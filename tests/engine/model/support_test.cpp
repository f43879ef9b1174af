// The small helpers: numbers as text, JSON without surprises, hashes, files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "engine/support/file.h"
#include "engine/support/hash.h"
#include "engine/support/json_value.h"
#include "engine/support/numbers.h"
#include "kernels/api/half.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

using testing::HasSubstr;

TEST(Numbers, AreReadWholeOrNotAtAll) {
    EXPECT_EQ(parse_integer("-42"), -42);
    EXPECT_EQ(parse_unsigned("18446744073709551615"), 18446744073709551615ull);
    for (const char* text : {"", "1,5", "+5", " 5", "5 ", "0x10", "5.0", "1e3", "9223372036854775808"})
        EXPECT_FALSE(parse_integer(text)) << text;
    EXPECT_DOUBLE_EQ(*parse_number("0.2"), 0.2);
    EXPECT_DOUBLE_EQ(*parse_number("1e-05"), 1e-5);
    for (const char* text : {"", "0,2", "nan", "inf", "1.5x", "1.5 ", "1e999"})
        EXPECT_FALSE(parse_number(text)) << text;
}

TEST(Numbers, AreWrittenWithAPoint) {
    EXPECT_EQ(format_number(0.1), "0.1");
    EXPECT_EQ(format_number(0.1f), "0.1");
    EXPECT_EQ(format_fixed(1234.5, 2), "1234.50");
    EXPECT_EQ(format_grouped(0), "0");
    EXPECT_EQ(format_grouped(999), "999");
    EXPECT_EQ(format_grouped(37748736), "37,748,736");
    EXPECT_EQ(format_grouped(-1234), "-1,234");
    EXPECT_EQ(format_grouped(-123), "-123");
}

TEST(Numbers, BytesHaveBinaryUnits) {
    EXPECT_EQ(format_bytes(0), "0 B");
    EXPECT_EQ(format_bytes(1023), "1023 B");
    EXPECT_EQ(format_bytes(1024), "1 KiB");
    EXPECT_EQ(format_bytes(36864), "36 KiB");
    EXPECT_EQ(format_bytes(37748736), "36 MiB");
    EXPECT_EQ(format_bytes(1677721600), "1.56 GiB");
    EXPECT_EQ(format_bytes(5242880000), "4.88 GiB");
    EXPECT_EQ(format_bytes(123456), "121 KiB");
    EXPECT_EQ(format_bytes(12345), "12.1 KiB");
    EXPECT_EQ(format_bytes(10 * 1024 - 1), "10 KiB") << "not 10.00";
    EXPECT_EQ(format_bytes(1024 * 1024 - 1), "1 MiB") << "not 1024 KiB";
    EXPECT_EQ(format_bytes(std::int64_t{1} << 62), "4 EiB");
    EXPECT_EQ(format_bytes(-36864), "-36 KiB");
}

TEST(Json, KeepsOrderKindsAndExactIntegers) {
    const auto root =
        parse_json(R"({"b": 9007199254740993, "a": [1.5, true, null, "x"], "big": 18446744073709551615})", "f");
    ASSERT_TRUE(root.ok());
    EXPECT_EQ(root->members()[0].first, "b");
    EXPECT_EQ(root->find("b")->as_integer(), 9007199254740993) << "not through a double";
    EXPECT_EQ(root->find("a")->items().size(), 4u);
    EXPECT_DOUBLE_EQ(root->find("a")->items()[0].as_number(), 1.5);
    EXPECT_FALSE(root->find("big")->is_integer()) << "beyond 64 bits signed";
    EXPECT_EQ(root->find("c"), nullptr);
}

TEST(Json, IsBounded) {
    EXPECT_THAT(parse_json("{\"a\": 1, \"b\": {\"c\": 1, \"c\": 2}}", "f").error().message,
                HasSubstr("f: duplicate key \"c\""));
    EXPECT_THAT(parse_json(std::string(100000, '['), "f").error().message, HasSubstr("nested more than 64"));
    JsonLimits limits;
    limits.values = 10;
    EXPECT_THAT(parse_json("[1,2,3,4,5,6,7,8,9,10,11]", "f", limits).error().message, HasSubstr("more than 10 values"));
    for (const char* text : {"", "{", "nul", "[1,]", "\"\xff\"", "1e999", "{} {}", "'a'"})
        EXPECT_FALSE(parse_json(text, "f").ok()) << text;
}

TEST(Hash, PiecesEqualTheWhole) {
    EXPECT_EQ(hash_text(hash64("")), "ef46db3751d8e999") << "xxh64 of nothing, as published";
    Hasher hasher;
    hasher.add(std::string_view("abc"));
    hasher.add(std::string_view("def"));
    EXPECT_EQ(hasher.value(), hash64("abcdef"));
    Hasher a, b;
    a.add_text("ab"), a.add_text("c");
    b.add_text("a"), b.add_text("bc");
    EXPECT_NE(a.value(), b.value());
}

TEST(Files, OnlyRegularOnesAreOpened) {
    TemporaryFolder folder;
    folder.write("empty", "");
    const auto empty = FileMap::open(folder.file("empty"));
    ASSERT_TRUE(empty.ok());
    EXPECT_EQ((*empty)->bytes().size(), 0u);
    EXPECT_THAT(FileMap::open(folder.path()).error().message, HasSubstr("not a regular file"));
    EXPECT_THAT(FileMap::open("/dev/zero").error().message, HasSubstr("not a regular file"));
    EXPECT_THAT(FileMap::open(folder.file("none")).error().message, HasSubstr("cannot be opened"));
    folder.write("text", "a\r\nb\n");
    EXPECT_EQ(*read_file(folder.file("text"), 100), "a\r\nb\n") << "no newline translation";
    EXPECT_THAT(read_file(folder.file("text"), 4).error().message, HasSubstr("5 bytes; at most 4"));
    EXPECT_GT(available_memory_bytes(), 0);
}

TEST(Half, RoundsToNearestEven) {  // LD-18
    EXPECT_EQ(f32_to_f16(1.0f / 3), 0x3555);
    EXPECT_EQ(f32_to_f16(0.1f), 0x2e66);
    EXPECT_EQ(f32_to_f16(65504.0f), 0x7bff);
    EXPECT_EQ(f32_to_f16(65519.99f), 0x7bff);
    EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
    EXPECT_EQ(f32_to_f16(0x1p-24f), 0x0001);
    EXPECT_EQ(f32_to_f16(0x1p-25f), 0x0000);
    EXPECT_EQ(f32_to_f16(0x1.000002p-25f), 0x0001);
    EXPECT_EQ(f32_to_f16(6.103515625e-5f), 0x0400);
    EXPECT_EQ(f32_to_f16(-0.0f), 0x8000);
    EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(std::nanf("")))));
}

}  // namespace
}  // namespace decodescope
