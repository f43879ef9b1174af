// Standard output and error of the command line. A result that is lost is an error, said once at the end; a message
// that is lost is not.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>

#include "kernels/api/status.h"

namespace decodescope {

// Keeps the first error; what comes after it is dropped.
void write_out(std::string_view text);
void flush_out();
// What the reader did not want (`| head -1`) is no error.
Status finish_out();
// To stderr, as far as it can be written.
void write_message(std::string_view text);

template <class... Args>
void print(fmt::format_string<Args...> format, Args&&... args) {
    write_out(fmt::format(format, std::forward<Args>(args)...));
}

template <class... Args>
void print_message(fmt::format_string<Args...> format, Args&&... args) {
    write_message(fmt::format(format, std::forward<Args>(args)...));
}

// What Tokenizer::display gave, as the window shows it: a part of a character as ⟨E5 B0⟩.
std::string shown_token(const std::string& display);

// A program that was started with a standard stream closed would give its number to the next file that it opens, and
// write what it prints into that file. Such a stream is made one that cannot be written.
void occupy_standard_streams();
// A file that would exceed the limit of its size (RLIMIT_FSIZE) gives an error to whoever writes it, not a signal that
// ends the program.
void keep_running_at_limits();

}  // namespace decodescope
