// K and V that do not lie in the device's memory but in the host's, or in a file. Before a layer runs, the rows that it
// reads are fetched into a pool on the device with room for one layer; afterwards its new rows are taken back.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "kernels/api/backend.h"

namespace decodescope {

enum class OffloadPlace : std::uint8_t { None, Host, File };
std::string_view offload_name(OffloadPlace place);  // "none", "host", "file"

// Memory that host code may follow and that the backend does not count: anonymous for Host, a mapped file without a
// name in the folder for temporary files (TMPDIR, else /tmp) for File. The whole file is reserved on the disk before it
// is mapped, so that a full disk is an error here and not a signal later. Memory error that names the bytes; File error
// that names the folder and what the system said.
Result<BufferPtr> allocate_offloaded(OffloadPlace place, std::size_t bytes);
// Memory error with both numbers when the host has not `bytes` left. Small requests are not asked about, and of a file
// the disk decides.
Status check_offload_fits(OffloadPlace place, std::int64_t bytes);

// What was moved between such memory and the device since begin_step().
struct OffloadTraffic {
    std::int64_t fetched_bytes = 0;   // to the device
    std::int64_t returned_bytes = 0;  // from the device
    double micros = 0;                // that the copies took, all of them while the layers waited
};

// One for all layers of a session; shared by its forks, of which one runs at a time.
class OffloadPool {
public:
    explicit OffloadPool(std::shared_ptr<Backend> backend) : backend_(std::move(backend)) {}

    // Room for a layer of `bytes`; what was in the pool is given up when it has to grow. Memory error of the backend.
    Status reserve(std::int64_t bytes);
    Buffer* buffer() const { return buffer_.get(); }
    std::int64_t bytes() const { return buffer_ == nullptr ? 0 : static_cast<std::int64_t>(buffer_->bytes()); }

    void begin_step();
    void add(std::int64_t fetched, std::int64_t returned, double micros);
    const OffloadTraffic& traffic() const { return traffic_; }
    // The highest rate of any step so far, the present one included: what a step moves, divided by it, is the time that
    // no arrangement of the same copies can beat. 0 before the first copy.
    double best_bytes_per_second() const;

private:
    std::shared_ptr<Backend> backend_;
    BufferPtr buffer_;
    double best_rate_ = 0;  // of the steps before
    OffloadTraffic traffic_;
};

}  // namespace decodescope
