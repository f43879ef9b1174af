#include "engine/cache/offload.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string>

#include "engine/support/file.h"

namespace decodescope {
namespace {

constexpr std::int64_t kAskSystemFrom = std::int64_t{16} << 20;  // bytes; a growing cache asks in every step

class MappedBuffer final : public Buffer {
public:
    MappedBuffer(void* data, std::size_t bytes) {
        data_ = static_cast<std::byte*>(data);
        bytes_ = bytes;
    }
    ~MappedBuffer() override { ::munmap(data_, bytes_); }
};

std::string temporary_folder() {
    const char* folder = std::getenv("TMPDIR");
    return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

Error file_error(const std::string& folder, std::size_t bytes, int code) {
    const char* hint = code == EFBIG ? "Raise the limit of a file's size (ulimit -f), or use offload=host."
                                     : "Set TMPDIR to a folder with room, or use offload=host.";
    return make_error(ErrorKind::File,
                      fmt::format("No temporary file of {} bytes for the cache can be made in {}: {}.", bytes, folder,
                                  std::strerror(code)),
                      hint);
}

// Owns a descriptor while the file is prepared; the mapping does not need it afterwards.
struct Descriptor {
    int number = -1;
    ~Descriptor() {
        if (number >= 0) ::close(number);
    }
};

// A file that is gone from its folder as soon as it is there: nothing is left behind, however the program ends.
Result<BufferPtr> map_file(std::size_t bytes) {
    const std::string folder = temporary_folder();
    std::string path = folder + "/decodescope-cache-XXXXXX";
    const Descriptor file{::mkostemp(path.data(), O_CLOEXEC)};
    if (file.number < 0) return file_error(folder, bytes, errno);
    ::unlink(path.c_str());
    if (const int code = ::posix_fallocate(file.number, 0, static_cast<off_t>(bytes)); code != 0)
        return file_error(folder, bytes, code);
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file.number, 0);
    if (data == MAP_FAILED) return file_error(folder, bytes, errno);
    return BufferPtr(std::make_unique<MappedBuffer>(data, bytes));
}

Result<BufferPtr> map_memory(std::size_t bytes) {
    void* data = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (data == MAP_FAILED) {
        return make_error(ErrorKind::Memory,
                          fmt::format("{} bytes of host memory for the offloaded cache were refused: {}.", bytes,
                                      std::strerror(errno)),
                          "Choose a smaller cache, or offload=file.");
    }
    return BufferPtr(std::make_unique<MappedBuffer>(data, bytes));
}

}  // namespace

std::string_view offload_name(OffloadPlace place) {
    return place == OffloadPlace::Host ? "host" : place == OffloadPlace::File ? "file" : "none";
}

Result<BufferPtr> allocate_offloaded(OffloadPlace place, std::size_t bytes) {
    DS_CHECK(place != OffloadPlace::None && bytes > 0);
    return place == OffloadPlace::File ? map_file(bytes) : map_memory(bytes);
}

Status check_offload_fits(OffloadPlace place, std::int64_t bytes) {
    if (place != OffloadPlace::Host || bytes < kAskSystemFrom) return {};
    const std::int64_t available = available_memory_bytes();
    if (available <= 0 || bytes <= available) return {};
    return make_error(ErrorKind::Memory,
                      fmt::format("The offloaded KV cache needs {} bytes and {} are free in the host's memory.", bytes,
                                  available),
                      "Choose a smaller capacity, or offload=file.");
}

Status OffloadPool::reserve(std::int64_t bytes) {
    if (bytes <= this->bytes()) return {};
    buffer_.reset();  // nothing in it outlives a layer
    auto buffer = backend_->allocate(static_cast<std::size_t>(bytes), MemoryPurpose::KvCache);
    if (!buffer.ok()) return buffer.error();
    buffer_ = std::move(*buffer);
    return {};
}

namespace {

double rate_of(const OffloadTraffic& traffic) {
    const auto bytes = static_cast<double>(traffic.fetched_bytes + traffic.returned_bytes);
    return traffic.micros > 0 ? bytes * 1e6 / traffic.micros : 0;
}

}  // namespace

void OffloadPool::begin_step() {
    best_rate_ = best_bytes_per_second();
    traffic_ = {};
}

void OffloadPool::add(std::int64_t fetched, std::int64_t returned, double micros) {
    traffic_.fetched_bytes += fetched;
    traffic_.returned_bytes += returned;
    traffic_.micros += micros;
}

double OffloadPool::best_bytes_per_second() const { return std::max(best_rate_, rate_of(traffic_)); }

}  // namespace decodescope
