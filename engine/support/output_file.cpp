#include "engine/support/output_file.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <charconv>
#include <filesystem>
#include <system_error>
#include <vector>

#include <fmt/format.h>

namespace decodescope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartialSuffix = ".partial";
constexpr std::size_t kProbeBytes = 4096;
constexpr const char* kUnchangedHint =
    "Free some space or choose another folder; a file that was there before is unchanged.";

constexpr const char* kLimitHint =
    "Files of this program may not be so large: raise the limit (ulimit -f). A file that was there before stays.";

Error write_error(const std::string& path, int error, const char* hint) {
    if (error == EFBIG) hint = kLimitHint;
    return make_error(ErrorKind::File,
                      fmt::format("cannot write '{}': {}.", path, std::generic_category().message(error)), hint);
}

std::string partial_prefix(const fs::path& path) { return fmt::format(".{}.", path.filename().string()); }

// Temporary files of this name whose process is gone were left by a crash.
void remove_stale_partials(const fs::path& path) {
    const std::string prefix = partial_prefix(path);
    std::error_code ignored;
    std::vector<fs::path> stale;
    for (fs::directory_iterator it(path.parent_path(), ignored), end; !ignored && it != end; it.increment(ignored)) {
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
    for (const auto& file : stale) fs::remove(file, ignored);
}

// The file that a chain of links ends at, whether it exists or not: the link itself must never be replaced.
Result<fs::path> behind_links(const std::string& path) {
    constexpr int kMostLinks = 40;
    std::error_code failed;
    fs::path target = fs::absolute(path, failed);
    for (int i = 0; !failed && fs::is_symlink(fs::symlink_status(target, failed)); ++i) {
        if (i == kMostLinks) return write_error(path, ELOOP, "The links lead round in a circle.");
        const fs::path next = fs::read_symlink(target, failed);
        target = next.is_absolute() ? next : target.parent_path() / next;
    }
    return target;
}

struct Target {
    fs::path file;
    bool direct = false;  // exists and is no regular file
    mode_t mode = 0;      // of the regular file that is there; 0 = none
};

Result<Target> target_of(const std::string& path) {
    if (path.empty()) return make_error(ErrorKind::File, "cannot write a file without a name.");
    Target target;
    struct stat found {};
    const bool exists = ::stat(path.c_str(), &found) == 0;
    if (!exists && errno != ENOENT) return write_error(path, errno, "Choose a folder that can be written.");
    if (exists && S_ISDIR(found.st_mode)) return write_error(path, EISDIR, "Give the name of a file.");
    if (exists && ::access(path.c_str(), W_OK) != 0) return write_error(path, errno, "Choose another name.");
    if (exists && !S_ISREG(found.st_mode)) {
        target.file = path;
        target.direct = true;
        return target;
    }
    auto file = behind_links(path);
    if (!file) return file.error();
    target.file = *file;
    if (exists) target.mode = found.st_mode & 07777;
    return target;
}

// The rename is on the disk only when the folder is; a file system that cannot sync folders is left alone.
void sync_folder(const fs::path& folder) {
    const int descriptor = ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (descriptor < 0) return;
    ::fsync(descriptor);
    ::close(descriptor);
}

}  // namespace

Result<std::unique_ptr<OutputFile>> OutputFile::create(const std::string& path) {
    auto target = target_of(path);
    if (!target) return target.error();
    std::unique_ptr<OutputFile> file(new OutputFile);
    file->path_ = path;
    file->target_ = target->file.string();
    if (target->direct) {  // nothing to rename over, and nothing to create
        file->descriptor_ = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
        if (file->descriptor_ < 0) return write_error(path, errno, "");
        return file;
    }
    remove_stale_partials(target->file);
    static std::atomic<int> counter{0};
    const fs::path partial = target->file.parent_path() / fmt::format("{}{}-{}{}", partial_prefix(target->file),
                                                                      ::getpid(), counter++, kPartialSuffix);
    file->descriptor_ = ::open(partial.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file->descriptor_ < 0) return write_error(path, errno, "Choose a folder that can be written.");
    file->temporary_ = partial.string();
    // Who may read the older file may read the new one, and nobody else.
    if (target->mode != 0 && ::fchmod(file->descriptor_, target->mode) != 0) file->error_ = errno;
    return file;
}

OutputFile::~OutputFile() {
    close();
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void OutputFile::close() {
    if (descriptor_ < 0) return;
    if (::close(descriptor_) != 0 && error_ == 0) error_ = errno;
    descriptor_ = -1;
}

void OutputFile::write(std::span<const std::byte> bytes) {
    while (error_ == 0 && !bytes.empty()) {
        const ssize_t done = ::write(descriptor_, bytes.data(), bytes.size());
        if (done < 0 && errno == EINTR) continue;
        if (done < 0)
            error_ = errno;
        else
            bytes = bytes.subspan(static_cast<std::size_t>(done));
    }
}

Status OutputFile::finish() {
    if (descriptor_ < 0 && error_ == 0) return {};
    // A device or a pipe cannot be synced, which is no loss.
    if (error_ == 0 && ::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) error_ = errno;
    close();
    if (error_ != 0) return write_error(path_, error_, temporary_.empty() ? "" : kUnchangedHint);
    return {};
}

Status OutputFile::place() {
    if (temporary_.empty()) return {};
    if (::rename(temporary_.c_str(), target_.c_str()) != 0) return write_error(path_, errno, kUnchangedHint);
    sync_folder(fs::path(target_).parent_path());
    temporary_.clear();
    return {};
}

Status OutputFile::commit() {
    DS_RETURN_IF_ERROR(finish());
    return place();
}

Result<OutputFile*> OutputSet::create(const std::string& path) {
    auto file = OutputFile::create(path);
    if (!file) return file.error();
    files_.push_back(std::move(*file));
    return files_.back().get();
}

Status OutputSet::add(const std::string& path, std::string_view content) {
    auto file = create(path);
    if (!file) return file.error();
    (*file)->write(content);
    return (*file)->finish();
}

std::string OutputSet::names() const {
    std::string names;
    for (const auto& file : files_)
        names += (names.empty() ? "" : ", ") + fs::path(file->path_).filename().string();
    return names;
}

Status OutputSet::commit() {
    for (const auto& file : files_) DS_RETURN_IF_ERROR(file->finish());
    for (const auto& file : files_) DS_RETURN_IF_ERROR(file->place());
    files_.clear();
    return {};
}

Status write_file(const std::string& path, std::string_view content) {
    auto file = OutputFile::create(path);
    if (!file) return file.error();
    (*file)->write(content);
    return (*file)->commit();
}

Status check_output(const std::string& path) {
    auto target = target_of(path);
    if (!target) return target.error();
    if (target->direct) return {};  // opening a pipe would wait for its reader
    auto file = OutputFile::create(path);
    if (!file) return file.error();
    (*file)->write(std::string(kProbeBytes, ' '));
    return (*file)->finish();
}

}  // namespace decodescope
