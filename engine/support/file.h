// Files that are read: mapped into memory, or as a string.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "kernels/api/status.h"

namespace decodescope {

// A whole file as read-only memory, unmapped with the last owner.
class FileMap {
public:
    // Only regular files; an empty file has no bytes. Errors name the file and the system's reason.
    static Result<std::shared_ptr<const FileMap>> open(const std::string& path);
    ~FileMap();
    FileMap(const FileMap&) = delete;
    FileMap& operator=(const FileMap&) = delete;

    std::span<const std::byte> bytes() const { return {data_, size_}; }
    const std::string& path() const { return path_; }

private:
    FileMap() = default;
    std::string path_;
    const std::byte* data_ = nullptr;
    std::size_t size_ = 0;
};

// The bytes as they are: no newline translation, no byte-order mark removed. Refused beyond `limit_bytes`.
Result<std::string> read_file(const std::string& path, std::int64_t limit_bytes);
bool file_exists(const std::string& path);

// Bytes that a new allocation may count on: what the system calls available, less where a control group allows less.
// 0 when unknown.
std::int64_t available_memory_bytes();

}  // namespace decodescope
