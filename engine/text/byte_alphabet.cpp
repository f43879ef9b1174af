#include "engine/text/byte_alphabet.h"

#include <array>

#include "engine/support/utf8.h"

namespace decodescope {
namespace {

constexpr std::uint32_t kStandInCount = 0x144;

constexpr bool stands_for_itself(unsigned byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Tables {
    std::array<std::uint32_t, 256> to_code_point{};
    std::array<std::int16_t, kStandInCount> to_byte{};
};

constexpr Tables make_tables() {
    Tables tables;
    for (auto& byte : tables.to_byte) byte = -1;
    std::uint32_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
        const std::uint32_t code_point = stands_for_itself(byte) ? byte : next++;
        tables.to_code_point[byte] = code_point;
        tables.to_byte[code_point] = static_cast<std::int16_t>(byte);
    }
    return tables;
}

constexpr Tables kTables = make_tables();

}  // namespace

std::uint32_t byte_stand_in(std::uint8_t byte) { return kTables.to_code_point[byte]; }

std::optional<std::string> bytes_of_stand_ins(std::string_view token) {
    std::string out;
    while (!token.empty()) {
        const Utf8Unit unit = utf8_front(token);
        if (unit.kind != Utf8Kind::Valid || unit.code_point >= kStandInCount) return std::nullopt;
        const int byte = kTables.to_byte[unit.code_point];
        if (byte < 0) return std::nullopt;
        out.push_back(static_cast<char>(byte));
        token.remove_prefix(unit.bytes);
    }
    return out;
}

std::string stand_ins_of_bytes(std::string_view bytes) {
    std::string out;
    for (const char byte : bytes) utf8_append(out, byte_stand_in(static_cast<std::uint8_t>(byte)));
    return out;
}

}  // namespace decodescope
