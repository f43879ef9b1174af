// Files that are written: complete or not there. What exists and is no regular file (a device, a pipe) is written to
// directly; a link is followed to what it names.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "kernels/api/status.h"

namespace decodescope {

// Collects the bytes of one file under a temporary name beside it, which commit() puts in place of the older file.
// Without commit() the temporary goes and an older file stays as it was.
class OutputFile {
public:
    // File error, with the system's reason, when nothing can be written there. Waits for a reader where `path` is a
    // named pipe. Temporaries that a program which is gone has left behind are removed.
    static Result<std::unique_ptr<OutputFile>> create(const std::string& path);
    ~OutputFile();
    OutputFile(const OutputFile&) = delete;
    OutputFile& operator=(const OutputFile&) = delete;

    // The first error is kept and said by commit(); what comes after it is dropped.
    void write(std::span<const std::byte> bytes);
    void write(std::string_view text) { write(std::as_bytes(std::span<const char>(text.data(), text.size()))); }
    bool failed() const { return error_ != 0; }
    // On the disk, and in place. Once.
    Status commit();

private:
    OutputFile() = default;
    void close();

    std::string path_;               // as given, for messages
    std::string target_, temporary_; // temporary_ is empty where the bytes go to their place directly
    int descriptor_ = -1;
    int error_ = 0;
};

// A whole file at once.
Status write_file(const std::string& path, std::string_view content);
// Whether a file of this name could be written, found out before work that takes long. What is there stays untouched.
Status check_output(const std::string& path);

}  // namespace decodescope
