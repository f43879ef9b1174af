#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/support/file.h"
#include "engine/support/hash.h"
#include "engine/trace/recording_codec.h"
#include "engine/trace/recording_file.h"

namespace decodescope {

namespace {

constexpr std::size_t kHashPiece = std::size_t{1} << 20;

struct Section {
    std::string name;
    std::span<const std::byte> payload;
    std::uint64_t hash = 0;
};

struct Trailer {
    std::uint64_t file_size = 0, sections = 0, rows = 0, steps = 0, race = 0, names = 0, hash = 0;
};

std::string_view as_text(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

class RecordingLoader {
public:
    RecordingLoader(std::shared_ptr<const FileMap> file, const ProgressFn& progress, std::stop_token stop)
        : file_(std::move(file)), bytes_(file_->bytes()), progress_(progress), stop_(std::move(stop)) {}

    Result<std::shared_ptr<RunRecording>> load() {
        DS_RETURN_IF_ERROR(check_header());
        DS_RETURN_IF_ERROR(check_trailer());
        DS_RETURN_IF_ERROR(find_sections());
        DS_RETURN_IF_ERROR(check_hashes());
        DS_RETURN_IF_ERROR(read_facts());
        for (std::size_t i = 1; i < sections_.size(); ++i) {
            if (stop_.stop_requested()) return cancelled();
            DS_RETURN_IF_ERROR(read_block(sections_[i]));
            report(sections_[i].payload.size());
        }
        DS_RETURN_IF_ERROR(check_counts());
        return recording_;
    }

private:
    Error refuse(std::string_view what) const {
        return make_error(ErrorKind::File,
                          fmt::format("'{}' cannot be opened as a recording: {}.", file_->path(), what),
                          "The file is damaged or was not written by this program.");
    }
    Error cancelled() const {
        return make_error(ErrorKind::Cancelled, fmt::format("opening '{}' was cancelled.", file_->path()));
    }
    void report(std::size_t bytes) {
        done_ += static_cast<std::int64_t>(bytes);
        if (progress_) progress_(done_, static_cast<std::int64_t>(3 * bytes_.size()));
    }

    Status check_header() {
        if (bytes_.size() < kRecordingMagic.size() || as_text(bytes_.first(kRecordingMagic.size())) != kRecordingMagic)
            return refuse("it does not begin as a Decodescope recording does");
        if (bytes_.size() < kRecordingHeaderBytes + kTrailerBytes)
            return refuse(fmt::format("it has {} bytes, and the shortest recording has {}", bytes_.size(),
                                      kRecordingHeaderBytes + kTrailerBytes));
        ByteReader in(bytes_.subspan(kRecordingMagic.size(), 8), "header");
        const std::uint32_t version = in.u32("version");
        if (version > kRecordingVersion)
            return make_error(
                ErrorKind::File,
                fmt::format("'{}' is a recording of format version {}, and this program reads up to version {}.",
                            file_->path(), version, kRecordingVersion),
                "Open it with a newer Decodescope.");
        if (version == 0) return refuse("header: version is 0, which no program wrote");
        if (const std::uint32_t reserved = in.u32("reserved field"); reserved != 0)
            return refuse(fmt::format("header: reserved field is {}, not 0", reserved));
        return {};
    }

    Status check_trailer() {
        const auto trailer = bytes_.last(kTrailerBytes);
        if (as_text(trailer.first(kTrailerMagic.size())) != kTrailerMagic)
            return refuse("the trailer is missing; the file was cut off or something was added to it");
        ByteReader in(trailer.subspan(kTrailerMagic.size()), "trailer");
        trailer_.file_size = in.u64("file size");
        trailer_.sections = in.u64("sections");
        trailer_.rows = in.u64("rows");
        trailer_.steps = in.u64("steps");
        trailer_.race = in.u64("race points");
        trailer_.names = in.u64("names");
        trailer_.hash = in.u64("checksum");
        if (trailer_.file_size != bytes_.size())
            return refuse(
                fmt::format("trailer: file size is {}, and the file has {} bytes", trailer_.file_size, bytes_.size()));
        // Each count is bounded by what the file can hold, so that sums and conversions below are safe.
        const std::array<std::pair<const char*, std::uint64_t>, 5> counts = {{{"sections", trailer_.sections},
                                                                              {"rows", trailer_.rows},
                                                                              {"steps", trailer_.steps},
                                                                              {"race points", trailer_.race},
                                                                              {"names", trailer_.names}}};
        const std::uint64_t most = std::min<std::uint64_t>(bytes_.size() / kSmallestNameBytes, 0x7FFFFFFF);
        for (const auto& [name, count] : counts)
            if (count > most)
                return refuse(fmt::format("trailer: {} is {}, and the file holds at most {}", name, count, most));
        return {};
    }

    Status find_sections() {
        auto rest = bytes_.subspan(kRecordingHeaderBytes, bytes_.size() - kRecordingHeaderBytes - kTrailerBytes);
        while (!rest.empty()) {
            const std::string where = fmt::format("section {}", sections_.size() + 1);
            ByteReader in(rest, where);
            if (rest.size() < kSectionHeaderBytes)
                return refuse(fmt::format("{} is cut off after {} bytes", where, rest.size()));
            Section section;
            section.name = as_text(rest.first(4));
            static_cast<void>(in.u32("name"));
            const std::uint32_t reserved = in.u32("reserved field");
            const std::uint64_t size = in.u64("size");
            section.hash = in.u64("checksum");
            constexpr std::array<std::string_view, 5> known = {"FACT", "NAME", "ROWS", "STEP", "RACE"};
            if (std::find(known.begin(), known.end(), section.name) == known.end() || reserved != 0)
                return refuse(fmt::format("{} has a name or reserved field that version {} does not know", where,
                                          kRecordingVersion));
            if (size > rest.size() - kSectionHeaderBytes)
                return refuse(fmt::format("{} ({}): size is {}, and {} bytes are left", where, section.name, size,
                                          rest.size() - kSectionHeaderBytes));
            section.payload = rest.subspan(kSectionHeaderBytes, static_cast<std::size_t>(size));
            rest = rest.subspan(kSectionHeaderBytes + static_cast<std::size_t>(size));
            sections_.push_back(std::move(section));
        }
        if (sections_.size() != trailer_.sections)
            return refuse(
                fmt::format("trailer: sections is {}, and the file has {}", trailer_.sections, sections_.size()));
        if (sections_.empty() || sections_.front().name != "FACT")
            return refuse("its first section is not FACT, the run facts");
        return {};
    }

    // Whether the hash of `bytes` is `expected`; nothing when stopped.
    std::optional<bool> hash_matches(std::span<const std::byte> bytes, std::uint64_t expected) {
        Hasher hash;
        for (std::size_t at = 0; at < bytes.size(); at += kHashPiece) {
            if (stop_.stop_requested()) return std::nullopt;
            const auto piece = bytes.subspan(at, std::min(kHashPiece, bytes.size() - at));
            hash.add(piece);
            report(piece.size());
        }
        return hash.value() == expected;
    }

    Status check_hashes() {
        for (std::size_t i = 0; i < sections_.size(); ++i) {
            const auto matches = hash_matches(sections_[i].payload, sections_[i].hash);
            if (!matches) return cancelled();
            if (!*matches)
                return refuse(
                    fmt::format("the checksum of section {} ({}) does not match its bytes", i + 1, sections_[i].name));
        }
        const auto matches = hash_matches(bytes_.first(bytes_.size() - 8), trailer_.hash);
        if (!matches) return cancelled();
        if (!*matches) return refuse("trailer: the checksum of the whole file does not match its bytes");
        return {};
    }

    Status read_facts() {
        ByteReader in(sections_.front().payload, "section FACT");
        RunFacts facts = decode_facts(in);
        in.finish();
        if (!in.ok()) return refuse(in.error());
        RecordingLimits limits;
        limits.attention_bytes = std::numeric_limits<std::int64_t>::max();  // the file is what was kept
        recording_ = std::make_shared<RunRecording>(std::move(facts), limits);
        return {};
    }

    Status read_block(const Section& section) {
        ByteReader in(section.payload, "section " + section.name);
        const auto rows = static_cast<std::int64_t>(trailer_.rows), steps = static_cast<std::int64_t>(trailer_.steps);
        if (section.name == "FACT") return refuse("section FACT is there twice");
        if (section.name == "NAME") {
            read_records(in, "names", kSmallestNameBytes, "name", [&] { read_name(in); });
        } else if (section.name == "ROWS") {
            read_records(in, "rows", kSmallestRowBytes, "row", [&] { decode_row(in, *recording_, steps); });
        } else if (section.name == "STEP") {
            read_records(in, "steps", kSmallestStepBytes, "step", [&] { read_step(in, rows, steps); });
        } else {
            read_records(in, "race points", kRacePointBytes, "race point", [&] {
                const RacePoint point = decode_race_point(in, steps);
                if (in.ok()) recording_->append_race_point(point);
            });
        }
        in.finish();
        if (!in.ok()) return refuse(in.error());
        return {};
    }

    template <class Read>
    void read_records(ByteReader& in, const char* field, std::size_t bytes_each, const char* item, const Read& read) {
        const std::size_t count = in.count(field, bytes_each);
        for (std::size_t i = 0; i < count && in.ok(); ++i) {
            in.set_item(item, static_cast<std::int64_t>(i));
            read();
        }
    }

    void read_name(ByteReader& in) {
        const std::int64_t vocabulary = std::max<std::int64_t>(recording_->facts().config.vocabulary, 1);
        const std::int32_t token = in.i32("token", 0, static_cast<std::int32_t>(vocabulary - 1));
        const std::string display = in.text("display text");
        if (!in.ok()) return;
        recording_->name_token(token, display);
        ++names_;
    }

    void read_step(ByteReader& in, std::int64_t rows, std::int64_t steps) {
        StepFacts step = decode_step(in, recording_->facts(), rows, steps);
        if (in.ok()) recording_->append_step(std::move(step));
    }

    Status check_counts() {
        const auto differs = [&](const char* name, std::uint64_t said, std::uint64_t found) {
            return refuse(fmt::format("trailer: {} is {}, and the file has {}", name, said, found));
        };
        const auto rows = static_cast<std::uint64_t>(recording_->row_count());
        const auto steps = static_cast<std::uint64_t>(recording_->step_count());
        const auto race = static_cast<std::uint64_t>(recording_->race_count());
        if (rows != trailer_.rows) return differs("rows", trailer_.rows, rows);
        if (steps != trailer_.steps) return differs("steps", trailer_.steps, steps);
        if (race != trailer_.race) return differs("race points", trailer_.race, race);
        if (names_ != trailer_.names) return differs("names", trailer_.names, names_);
        return {};
    }

    std::shared_ptr<const FileMap> file_;
    std::span<const std::byte> bytes_;
    const ProgressFn& progress_;
    std::stop_token stop_;
    Trailer trailer_;
    std::vector<Section> sections_;
    std::shared_ptr<RunRecording> recording_;
    std::uint64_t names_ = 0;
    std::int64_t done_ = 0;
};

}  // namespace

Result<std::shared_ptr<RunRecording>> load_recording(const std::string& path, const ProgressFn& progress,
                                                     std::stop_token stop) {
    auto file = FileMap::open(path);
    if (!file.ok()) return file.error();
    return RecordingLoader(std::move(file).value(), progress, std::move(stop)).load();
}

}  // namespace decodescope
