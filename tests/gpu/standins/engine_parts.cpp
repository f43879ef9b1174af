// Stands for the three files of the engine that need a library: the check on a GPU reads no JSON, splits no text and
// compares no hash with another program's.
#include <fmt/format.h>

#include "engine/support/hash.h"
#include "engine/support/json_value.h"
#include "engine/text/splitter.h"

namespace decodescope {
namespace {

constexpr std::uint64_t kFnvStart = 14695981039346656037ull, kFnvFactor = 1099511628211ull;

std::uint64_t fnv(std::uint64_t state, std::span<const std::byte> bytes) {
    for (const std::byte b : bytes) state = (state ^ static_cast<std::uint64_t>(b)) * kFnvFactor;
    return state;
}

std::span<const std::byte> bytes_of(std::string_view text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

Error not_here(const char* what) {
    return make_error(ErrorKind::Unsupported, std::string("The check on a GPU is built without ") + what + ".");
}

}  // namespace

std::uint64_t hash64(std::span<const std::byte> bytes, std::uint64_t seed) { return fnv(kFnvStart ^ seed, bytes); }
std::uint64_t hash64(std::string_view bytes, std::uint64_t seed) { return hash64(bytes_of(bytes), seed); }
std::string hash_text(std::uint64_t hash) { return fmt::format("{:016x}", hash); }

struct Hasher::State {
    std::uint64_t value;
};
Hasher::Hasher(std::uint64_t seed) : state_(std::make_unique<State>(State{kFnvStart ^ seed})) {}
Hasher::~Hasher() = default;
Hasher::Hasher(Hasher&&) noexcept = default;
Hasher& Hasher::operator=(Hasher&&) noexcept = default;
void Hasher::add(std::span<const std::byte> bytes) { state_->value = fnv(state_->value, bytes); }
void Hasher::add(std::string_view bytes) { add(bytes_of(bytes)); }
void Hasher::add_integer(std::uint64_t value) {
    std::byte bytes[8];
    for (std::size_t i = 0; i < 8; ++i) bytes[i] = static_cast<std::byte>(value >> (8 * i));
    add(bytes);
}
void Hasher::add_text(std::string_view text) {
    add_integer(text.size());
    add(text);
}
std::uint64_t Hasher::value() const { return state_->value; }

double JsonValue::as_number() const { return 0.0; }
const std::string& JsonValue::as_string() const {
    static const std::string none;
    return none;
}
const std::vector<JsonValue>& JsonValue::items() const {
    static const std::vector<JsonValue> none;
    return none;
}
const std::vector<JsonValue::Member>& JsonValue::members() const {
    static const std::vector<Member> none;
    return none;
}
const JsonValue* JsonValue::find(std::string_view) const { return nullptr; }
std::string JsonValue::described() const { return "nothing"; }
Result<JsonValue> parse_json(std::string_view, const std::string&, const JsonLimits&) { return not_here("JSON"); }

struct Splitter::Step {};
Splitter::Splitter() = default;
Splitter::~Splitter() = default;
const char* const kGpt2Pattern = "";
Result<std::shared_ptr<const Splitter>> Splitter::make(std::vector<SplitStep>) {
    return not_here("regular expressions");
}
Status Splitter::split(std::string_view, const PieceSink&, std::stop_token) const {
    return not_here("regular expressions");
}

}  // namespace decodescope
