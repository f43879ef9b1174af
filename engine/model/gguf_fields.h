// Reads the keys of one GGUF file; the first problem is kept and later reads give defaults.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "engine/model/gguf.h"
#include "kernels/api/status.h"

namespace decodescope {

class GgufFields {
public:
    // Keys are given without `prefix`, "llama.".
    GgufFields(const GgufHeader& header, std::string file, std::string prefix)
        : header_(header), file_(std::move(file)), prefix_(std::move(prefix)) {}

    const Status& status() const { return status_; }
    void fail(ErrorKind kind, const std::string& message);

    bool has(std::string_view key) { return find(key) != nullptr; }
    std::optional<std::int64_t> optional_integer(std::string_view key);
    std::int64_t integer(std::string_view key);  // missing: refused
    double number(std::string_view key, double fallback);
    std::optional<bool> optional_boolean(std::string_view key);
    std::string_view text(std::string_view key, std::string_view fallback);
    // Null when absent; refused when it is another kind.
    const std::vector<std::string_view>* texts(std::string_view key);
    const GgufNumbers* numbers(std::string_view key);

    // The key may be there: it changes nothing here.
    void pass(std::string_view key) { find(key); }
    // Only this number is implemented.
    void only(std::string_view key, std::int64_t value);
    // Refuses the first key with the prefix that was not asked for.
    void nothing_left();

private:
    const GgufValue* find(std::string_view key);
    template <class T>
    const T* get(std::string_view key, const char* what);

    const GgufHeader& header_;
    std::string file_, prefix_;
    std::set<std::string, std::less<>> asked_;
    Status status_;
};

}  // namespace decodescope
