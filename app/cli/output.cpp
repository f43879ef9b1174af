#include "app/cli/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <system_error>

namespace decodescope {
namespace {

int lost = 0;  // errno of the first write to stdout that failed

void note(bool written) {
    if (!written && lost == 0) lost = errno != 0 ? errno : EIO;
}

}  // namespace

void write_out(std::string_view text) {
    if (lost != 0 || text.empty()) return;
    errno = 0;
    note(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
}

void flush_out() {
    if (lost != 0) return;
    errno = 0;
    note(std::fflush(stdout) == 0);
}

Status finish_out() {
    flush_out();
    if (lost == 0 || lost == EPIPE) return {};
    return make_error(
        ErrorKind::File,
        fmt::format("the results cannot be written to standard output: {}.", std::generic_category().message(lost)),
        lost == EFBIG ? "Files of this program may not be so large: raise the limit (ulimit -f)."
                      : "Free some space or write to another place.");
}

void write_message(std::string_view text) {
    std::fwrite(text.data(), 1, text.size(), stderr);
    std::fflush(stderr);
}

std::string shown_token(const std::string& display) {
    if (display.rfind("\\x", 0) != 0) return display;
    std::string shown = "⟨";
    for (std::size_t i = 0; i < display.size(); ++i) {
        if (display.compare(i, 2, "\\x") != 0) {
            shown += display[i];
            continue;
        }
        if (i > 0) shown += ' ';
        ++i;
    }
    return shown + "⟩";
}

void occupy_standard_streams() {
    for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        if (::fcntl(stream, F_GETFD) != -1 || errno != EBADF) continue;
        // The lowest free number is taken, so it is this one; reading from or writing to it then fails.
        [[maybe_unused]] const int opened = ::open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
}

void keep_running_at_limits() { std::signal(SIGXFSZ, SIG_IGN); }

}  // namespace decodescope
