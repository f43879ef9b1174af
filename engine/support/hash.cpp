#include "engine/support/hash.h"

#include <array>

#include <fmt/format.h>
#define XXH_STATIC_LINKING_ONLY  // the state is kept by value
#include <xxhash.h>

namespace decodescope {

struct Hasher::State {
    XXH64_state_t xxh;
};

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) {
    return XXH64(bytes.data(), bytes.size(), seed);
}
std::uint64_t hash64(std::string_view bytes, std::uint64_t seed) { return XXH64(bytes.data(), bytes.size(), seed); }
std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

Hasher::Hasher(std::uint64_t seed) : state_(std::make_unique<State>()) { XXH64_reset(&state_->xxh, seed); }
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;

void Hasher::add(std::span<const std::byte> bytes) {
    if (!bytes.empty()) XXH64_update(&state_->xxh, bytes.data(), bytes.size());
}
void Hasher::add(std::string_view bytes) {
    if (!bytes.empty()) XXH64_update(&state_->xxh, bytes.data(), bytes.size());
}
void Hasher::add_integer(std::uint64_t value) {
    std::array<std::byte, 8> bytes;
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
    add(bytes);
}
void Hasher::add_text(std::string_view text) {
    add_integer(text.size());
    add(text);
}
std::uint64_t Hasher::value() const { return XXH64_digest(&state_->xxh); }

}  // namespace decodescope
