// Errors as values. The environment (a file, a device, memory, a value typed by a person) fails with one sentence that
// names the values and one hint that says what to do; a bug in the program stops at DS_CHECK, in release builds too.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace decodescope {

enum class ErrorKind {
    Argument,     // a value that cannot be used, whatever the machine
    File,         // cannot open, read, write
    Model,        // a model file or configuration that contradicts itself
    Unsupported,  // known, named, and not available in this combination
    Memory,       // allocation failed or would not fit
    Capacity,     // context or cache is full
    Cancelled,    // a stop was asked for
    NonFinite,    // NaN or infinity where a number must be
    Device,       // a backend or its driver
};

struct Error {
    ErrorKind kind = ErrorKind::Argument;
    std::string message;  // one sentence with the values, no trailing newline
    std::string hint;     // what to do; may be empty

    // The sentence followed by the hint, for the message bar and for stderr.
    std::string text() const { return hint.empty() ? message : message + " " + hint; }
};

inline Error make_error(ErrorKind kind, std::string message, std::string hint = {}) {
    return Error{kind, std::move(message), std::move(hint)};
}

class [[nodiscard]] Status {
public:
    Status() = default;
    Status(Error error) : error_(std::move(error)) {}  // NOLINT: implicit on purpose, `return make_error(...)`
    bool ok() const { return !error_.has_value(); }
    explicit operator bool() const { return ok(); }
    const Error& error() const { return *error_; }

private:
    std::optional<Error> error_;
};

template <class T>
class [[nodiscard]] Result {
public:
    Result(T value) : value_(std::in_place_index<0>, std::move(value)) {}   // NOLINT: implicit on purpose
    Result(Error error) : value_(std::in_place_index<1>, std::move(error)) {}  // NOLINT
    bool ok() const { return value_.index() == 0; }
    explicit operator bool() const { return ok(); }
    T& value() & { return std::get<0>(value_); }
    const T& value() const& { return std::get<0>(value_); }
    T&& value() && { return std::get<0>(std::move(value_)); }
    T* operator->() { return &std::get<0>(value_); }
    const T* operator->() const { return &std::get<0>(value_); }
    T& operator*() & { return value(); }
    const T& operator*() const& { return value(); }
    const Error& error() const { return std::get<1>(value_); }

private:
    std::variant<T, Error> value_;
};

[[noreturn]] inline void check_failed(const char* condition, const char* file, int line) {
    std::fprintf(stderr, "decodescope: internal check failed: %s (%s:%d)\n", condition, file, line);
    std::abort();
}

// A broken invariant of our own code. Never used for anything that a file, a device or a person can cause.
#define DS_CHECK(condition) \
    ((condition) ? static_cast<void>(0) : ::decodescope::check_failed(#condition, __FILE__, __LINE__))

// Returns the error of `expression` from the enclosing function.
#define DS_RETURN_IF_ERROR(expression)                                  \
    do {                                                                \
        if (auto ds_status = (expression); !ds_status.ok()) return ds_status.error(); \
    } while (false)

}  // namespace decodescope
