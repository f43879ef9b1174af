#include "engine/trace/recording_file.h"

#include <fmt/format.h>

#include "engine/support/hash.h"
#include "engine/support/output_file.h"
#include "engine/trace/recording_codec.h"

namespace decodescope {

namespace {

constexpr std::size_t kBlockBytes = std::size_t{4} << 20;

std::span<const std::byte> as_bytes(std::string_view text) {
    return std::as_bytes(std::span<const char>(text.data(), text.size()));
}

// Counts and hashes what goes into the file.
class FileSink {
public:
    explicit FileSink(OutputFile& file) : file_(file) {}

    void write(std::span<const std::byte> bytes) {
        hash_.add(bytes);
        written_ += bytes.size();
        file_.write(bytes);
    }
    bool failed() const { return file_.failed(); }
    std::uint64_t written() const { return written_; }
    std::uint64_t hash() const { return hash_.value(); }

private:
    OutputFile& file_;
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
        for (std::int32_t i = 0; i < count && !sink_.failed() && !stop_.stop_requested(); ++i) {
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

}  // namespace

Status write_recording(const RunRecording& recording, OutputFile& file, const ProgressFn& progress,
                       std::stop_token stop) {
    FileSink sink(file);
    RecordingWriter(recording, sink, progress, stop).write();
    if (stop.stop_requested()) return make_error(ErrorKind::Cancelled, "saving the recording was cancelled.");
    return file.finish();
}

Status save_recording(const RunRecording& recording, const std::string& path, const ProgressFn& progress,
                      std::stop_token stop) {
    if (path.empty()) return make_error(ErrorKind::File, "cannot save a recording without a file name.");
    auto file = OutputFile::create(path);
    if (!file) return file.error();
    const Status written = write_recording(recording, **file, progress, stop);
    if (!written.ok() && written.error().kind == ErrorKind::Cancelled)
        return make_error(ErrorKind::Cancelled, fmt::format("saving '{}' was cancelled.", path));
    if (!written.ok()) return written.error();
    return (*file)->commit();
}

}  // namespace decodescope
