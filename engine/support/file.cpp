#include "engine/support/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <system_error>

#include <fmt/format.h>

#include "engine/support/numbers.h"

namespace decodescope {
namespace {

Error file_error(const std::string& path, const char* what, int code) {
    return make_error(ErrorKind::File,
                      fmt::format("{} cannot be {}: {}.", path, what, std::generic_category().message(code)),
                      "Check the path and the permissions.");
}

// Closes the descriptor at the end of the scope.
struct Descriptor {
    int number = -1;
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
};

std::string first_line(const char* path) {
    std::ifstream in(path);
    std::string line;
    std::getline(in, line);
    return line;
}

std::int64_t meminfo_available() {
    std::ifstream in("/proc/meminfo");
    for (std::string line; std::getline(in, line);) {
        if (line.rfind("MemAvailable:", 0) != 0) continue;
        const std::size_t first = line.find_first_of("0123456789");
        const std::size_t last = line.find_first_not_of("0123456789", first);
        return parse_integer(line.substr(first, last - first)).value_or(0) * 1024;
    }
    return 0;
}

// What a control group (a container) still allows, or nothing where there is no limit.
std::optional<std::int64_t> group_available() {
    constexpr const char* files[][2] = {
        {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"},
        {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"}};
    for (const auto& pair : files) {
        const auto limit = parse_integer(first_line(pair[0]));
        const auto used = parse_integer(first_line(pair[1]));
        if (limit && used) return std::max<std::int64_t>(*limit - *used, 0);
    }
    return std::nullopt;
}

}  // namespace

Result<std::shared_ptr<const FileMap>> FileMap::open(const std::string& path) {
    // Non-blocking, so that a named pipe is refused instead of waited for.
    const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
    if (file.number < 0) return file_error(path, "opened", errno);
    struct stat info {};
    if (::fstat(file.number, &info) != 0) return file_error(path, "examined", errno);
    if (!S_ISREG(info.st_mode))
        return make_error(ErrorKind::File, fmt::format("{} is not a regular file.", path), "Give a file.");
    std::shared_ptr<FileMap> map(new FileMap);
    map->path_ = path;
    if (info.st_size == 0) return std::shared_ptr<const FileMap>(map);
    void* data = ::mmap(nullptr, static_cast<std::size_t>(info.st_size), PROT_READ, MAP_PRIVATE, file.number, 0);
    if (data == MAP_FAILED) return file_error(path, "mapped", errno);
    map->data_ = static_cast<const std::byte*>(data);
    map->size_ = static_cast<std::size_t>(info.st_size);
    return std::shared_ptr<const FileMap>(map);
}

FileMap::~FileMap() {
    if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

Result<std::string> read_file(const std::string& path, std::int64_t limit_bytes) {
    auto map = FileMap::open(path);
    if (!map) return map.error();
    const auto bytes = (*map)->bytes();
    if (static_cast<std::int64_t>(bytes.size()) > limit_bytes)
        return make_error(ErrorKind::File,
                          fmt::format("{} has {} bytes; at most {} are read.", path, bytes.size(), limit_bytes),
                          "Is it the right file?");
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

bool file_exists(const std::string& path) {
    std::error_code error;
    return std::filesystem::exists(path, error);
}

std::int64_t available_memory_bytes() {
    const std::int64_t system = meminfo_available();
    const auto group = group_available();
    return group && (system == 0 || *group < system) ? *group : system;
}

}  // namespace decodescope
