#include "engine/trace/recording_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>

#include "engine/support/hash.h"
#include "engine/trace/recording_codec.h"

namespace decodescope {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20;
constexpr std::string_view kPartialSuffix = ".partial";

std::string reason(int error) { return std::generic_category().message(error); }

std::span<const std::byte> as_bytes(std::string_view text) {
    return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

// A file that is being written; keeps the first error and the hash of everything written.
class FileSink {
public:
    explicit FileSink(int descriptor) : descriptor_(descriptor) {}
    ~FileSink() { close(); }
    FileSink(const FileSink&) = delete;
    FileSink& operator=(const FileSink&) = delete;

    void write(std::span<const std::byte> bytes) {
        hash_.add(bytes);
        written_ += bytes.size();
        while (error_ == 0 && !bytes.empty()) {
            const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
            if (done < 0 && errno == EINTR) continue;
            if (done < 0)
                error_ = errno;
            else
                bytes = bytes.subspan(static_cast<std::size_t>(done));
        }
    }
    void sync() {
        // A device or a pipe cannot be synced, which is no loss.
        if (error_ == 0 && ::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) error_ = errno;
    }
    void close() {
        if (descriptor_ < 0) return;
        if (::close(descriptor_) != 0 && error_ == 0) error_ = errno;
        descriptor_ = -1;
    }
    int error() const { return error_; }
    std::uint64_t written() const { return written_; }
    std::uint64_t hash() const { return hash_.value(); }

private:
    int descriptor_;
    int error_ = 0;
    std::uint64_t written_ = 0;
    Hasher hash_;
};

struct Counts {
    std::int32_t rows = 0, steps = 0, race = 0;
    std::size_t names = 0;
};

// What belongs to complete steps, while the run may still be growing: each count is read before the one that it needs.
Counts complete_counts(const RunRecording& recording) {
    Counts counts;
    counts.race = recording.race_count();
    counts.steps = recording.step_count();
    if (counts.steps == 0) return counts;
    const auto last = recording.step(counts.steps - 1);
    counts.rows = last->first_row + last->row_count;
    while (counts.race > 0 && recording.race_point(counts.race - 1).step >= counts.steps) --counts.race;
    return counts;
}

class RecordingWriter {
public:
    RecordingWriter(const RunRecording& recording, FileSink& sink, const ProgressFn& progress, std::stop_token stop)
        : recording_(recording), sink_(sink), progress_(progress), stop_(std::move(stop)) {}

    void write() {
        Counts counts = complete_counts(recording_);
        const std::vector<std::int32_t> names = recording_.named_tokens();
        counts.names = names.size();
        total_ = counts.rows + counts.steps;
        header();
        body_.clear();
        encode_facts(body_, recording_.facts());
        section("FACT", {});
        blocks("NAME", static_cast<std::int32_t>(names.size()), [&](std::int32_t i) {
            body_.i32(names[static_cast<std::size_t>(i)]);
            body_.text(recording_.token_display(names[static_cast<std::size_t>(i)]));
        });
        blocks("ROWS", counts.rows, [&](std::int32_t i) { encode_row(body_, recording_, i); });
        blocks("STEP", counts.steps, [&](std::int32_t i) { encode_step(body_, *recording_.step(i)); });
        blocks("RACE", counts.race, [&](std::int32_t i) { encode_race_point(body_, recording_.race_point(i)); });
        trailer(counts);
    }

private:
    void header() {
        ByteWriter out;
        out.u32(kRecordingVersion);
        out.u32(0);
        sink_.write(as_bytes(kRecordingMagic));
        sink_.write(out.bytes());
    }

    // One section: `start`, then what lies in body_.
    void section(std::string_view name, std::span<const std::byte> start) {
        Hasher hash;
        hash.add(start);
        hash.add(body_.bytes());
        ByteWriter out;
        out.u32(0);
        out.u64(start.size() + body_.size());
        out.u64(hash.value());
        sink_.write(as_bytes(name));
        sink_.write(out.bytes());
        sink_.write(start);
        sink_.write(body_.bytes());
        body_.clear();
        ++sections_;
    }

    // Records 0 .. count-1 in sections of about kBlockBytes, each with its record count first.
    template <class Encode>
    void blocks(std::string_view name, std::int32_t count, const Encode& encode) {
        std::int32_t first = 0;
        for (std::int32_t i = 0; i < count && sink_.error() == 0 && !stop_.stop_requested(); ++i) {
            encode(i);
            if (body_.size() < kBlockBytes && i + 1 < count) continue;
            ByteWriter start;
            start.u64(static_cast<std::uint64_t>(i + 1 - first));
            section(name, start.bytes());
            if (progress_ && name != "NAME" && name != "RACE") progress_(done_ += i + 1 - first, total_);
            first = i + 1;
        }
    }

    void trailer(const Counts& counts) {
        ByteWriter out;
        out.u64(sink_.written() + kTrailerBytes);
        out.u64(sections_);
        for (std::int32_t count : {counts.rows, counts.steps, counts.race}) out.u64(static_cast<std::uint64_t>(count));
        out.u64(counts.names);
        sink_.write(as_bytes(kTrailerMagic));
        sink_.write(out.bytes());
        ByteWriter hash;
        hash.u64(sink_.hash());
        sink_.write(hash.bytes());
    }

    const RunRecording& recording_;
    FileSink& sink_;
    const ProgressFn& progress_;
    std::stop_token stop_;
    ByteWriter body_;
    std::uint64_t sections_ = 0;
    std::int64_t done_ = 0, total_ = 0;
};

std::string partial_prefix(const std::filesystem::path& path) { return fmt::format(".{}.", path.filename().string()); }

// Temporary files of this name whose process is gone were left by a crash.
void remove_stale_partials(const std::filesystem::path& path) {
    const std::string prefix = partial_prefix(path);
    std::error_code ignored;
    std::vector<std::filesystem::path> stale;
    for (std::filesystem::directory_iterator it(path.parent_path(), ignored), end; !ignored && it != end;
         it.increment(ignored)) {
        const std::string name = it->path().filename().string();
        if (name.size() <= prefix.size() + kPartialSuffix.size() || name.compare(0, prefix.size(), prefix) != 0 ||
            name.compare(name.size() - kPartialSuffix.size(), kPartialSuffix.size(), kPartialSuffix) != 0)
            continue;
        int process = 0;
        const char* end_of_name = name.data() + name.size();
        const auto parsed = std::from_chars(name.data() + prefix.size(), end_of_name, process);
        const bool ours = parsed.ec == std::errc() && parsed.ptr != end_of_name && *parsed.ptr == '-' && process > 0;
        if (ours && ::kill(process, 0) != 0 && errno == ESRCH) stale.push_back(it->path());
    }
    for (const auto& file : stale) std::filesystem::remove(file, ignored);
}

Error write_error(const std::string& path, int error, std::string_view hint) {
    return make_error(ErrorKind::File, fmt::format("cannot write '{}': {}.", path, reason(error)), std::string(hint));
}

constexpr std::string_view kUnchangedHint =
    "Free some space or choose another folder; a file that was there before is unchanged.";

// Writes to an open file and makes sure that it is on the disk.
Status write_all(const RunRecording& recording, int descriptor, const std::string& path, const ProgressFn& progress,
                 std::stop_token stop) {
    FileSink sink(descriptor);
    RecordingWriter(recording, sink, progress, stop).write();
    if (stop.stop_requested()) return make_error(ErrorKind::Cancelled, fmt::format("saving '{}' was cancelled.", path));
    sink.sync();
    sink.close();
    if (sink.error() != 0) return write_error(path, sink.error(), kUnchangedHint);
    return {};
}

// The rename is on the disk only when the folder is; a file system that cannot sync folders is left alone.
void sync_folder(const std::filesystem::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
}

}  // namespace

Status save_recording(const RunRecording& recording, const std::string& path, const ProgressFn& progress,
                      std::stop_token stop) {
    if (path.empty()) return make_error(ErrorKind::File, "cannot save a recording without a file name.");
    std::error_code failed;
    std::filesystem::path target = std::filesystem::absolute(path, failed);
    if (std::filesystem::is_symlink(target, failed)) {  // the file it leads to is replaced, not the link
        const auto resolved = std::filesystem::canonical(target, failed);
        if (!failed) target = resolved;
    }
    struct stat found {};
    if (::stat(target.c_str(), &found) == 0 && !S_ISREG(found.st_mode)) {
        if (S_ISDIR(found.st_mode)) return write_error(path, EISDIR, "Give the name of a file.");
        const int device = ::open(target.c_str(), O_WRONLY | O_CLOEXEC);  // a device or pipe: nothing to rename over
        if (device < 0) return write_error(path, errno, {});
        return write_all(recording, device, path, progress, stop);
    }
    remove_stale_partials(target);
    static std::atomic<int> counter{0};
    const std::filesystem::path partial =
        target.parent_path() / fmt::format("{}{}-{}{}", partial_prefix(target), ::getpid(), counter++, kPartialSuffix);
    const int descriptor = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (descriptor < 0) return write_error(path, errno, "Choose a folder that can be written.");
    Status status = write_all(recording, descriptor, path, progress, stop);
    if (status.ok() && ::rename(partial.c_str(), target.c_str()) != 0)
        status = write_error(path, errno, kUnchangedHint);
    if (!status.ok()) {
        ::unlink(partial.c_str());
        return status;
    }
    sync_folder(target.parent_path());
    return {};
}

}  // namespace decodescope
