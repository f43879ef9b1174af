// xxh64, the hash of fingerprints and checksums. Not for security.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace decodescope {

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed = 0);
std::uint64_t hash64(std::string_view bytes, std::uint64_t seed = 0);
// 16 lower-case hexadecimal digits.
std::string hash_text(std::uint64_t hash);

// The same hash over pieces.
class Hasher {
public:
    explicit Hasher(std::uint64_t seed = 0);
    ~Hasher();
    Hasher(Hasher&&) noexcept;
    Hasher& operator=(Hasher&&) noexcept;

    void add(std::span<const std::byte> bytes);
    void add(std::string_view bytes);
    // The value's 8 bytes, lowest first: the same on every machine.
    void add_integer(std::uint64_t value);
    // Length and bytes, so that "ab" + "c" differs from "a" + "bc".
    void add_text(std::string_view text);
    std::uint64_t value() const;
    std::string text() const { return hash_text(value()); }

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace decodescope
