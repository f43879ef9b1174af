// Files that are written: complete or not there. What exists and is no regular file (a device, a pipe) is written to
// directly; a link is followed to what it names.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

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
    // On the disk, still under the temporary name.
    Status finish();
    // finish(), and in place of the older file. Once.
    Status commit();

private:
    friend class OutputSet;
    OutputFile() = default;
    void close();
    Status place();  // after finish()

    std::string path_;               // as given, for messages
    std::string target_, temporary_; // temporary_ is empty where the bytes go to their place directly
    int descriptor_ = -1;
    int error_ = 0;
};

// Files that belong together: each is written whole under its temporary name, and only when all of them are there do
// they take their places. Without commit() all older files stay as they were.
class OutputSet {
public:
    // To be written until commit().
    Result<OutputFile*> create(const std::string& path);
    Status add(const std::string& path, std::string_view content);
    Status commit();
    // Of what waits for commit(), without folders: "timing.csv, timing.json".
    std::string names() const;

private:
    std::vector<std::unique_ptr<OutputFile>> files_;
};

// A whole file at once.
Status write_file(const std::string& path, std::string_view content);
// Whether a file of this name could be written and the disk takes a few bytes, found out before work that takes long.
// What is there stays untouched.
Status check_output(const std::string& path);

}  // namespace decodescope
