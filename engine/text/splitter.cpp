#include "engine/text/splitter.h"

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include <array>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "engine/support/utf8.h"
#include "engine/text/normalizer.h"

namespace decodescope {

const char* const kGpt2Pattern = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

namespace {

struct FreePcre {
    void operator()(pcre2_code* p) const { pcre2_code_free(p); }
    void operator()(pcre2_match_data* p) const { pcre2_match_data_free(p); }
    void operator()(pcre2_match_context* p) const { pcre2_match_context_free(p); }
    void operator()(pcre2_jit_stack* p) const { pcre2_jit_stack_free(p); }
};
template <class T>
using PcrePtr = std::unique_ptr<T, FreePcre>;

std::string pcre_message(int code) {
    std::array<PCRE2_UCHAR, 256> buffer{};
    pcre2_get_error_message(code, buffer.data(), buffer.size());
    return reinterpret_cast<const char*>(buffer.data());
}

// One escape of a pattern, from behind its backslash; moves `rest` behind it. Nothing when its meaning differs between
// regular expression libraries.
std::optional<std::string> translate_escape(std::string_view& rest) {
    const char c = rest[0];
    rest.remove_prefix(1);
    // PCRE2's own \s also takes U+180E, its \d in other modes only ASCII.
    if (c == 's') return "\\p{White_Space}";
    if (c == 'S') return "\\P{White_Space}";
    if (c == 'd') return "\\p{Nd}";
    if (c == 'D') return "\\P{Nd}";
    std::string out = {'\\', c};
    const bool letter_or_digit = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (!letter_or_digit || std::string_view("rntfx").find(c) != std::string_view::npos) return out;
    if (c != 'p' && c != 'P') return std::nullopt;
    if (rest.empty() || rest[0] != '{') return out;  // \pL
    std::string_view name = rest.substr(1, rest.find('}') - 1);
    const bool negated = !name.empty() && name[0] == '^';
    if (negated) name.remove_prefix(1);
    // Longer names are scripts; PCRE2 would also take characters that several scripts share, such as U+3002 for Han.
    if (name.size() <= 2 || rest.find('}') == std::string_view::npos) return out;
    rest.remove_prefix(rest.find('}') + 1);
    return out + (negated ? "{^sc:" : "{sc:") + std::string(name) + "}";
}

// A pattern as the tokenizers library understands it -> as PCRE2 does. `pattern` is UTF-8.
Result<std::string> translate(const std::string& pattern) {
    std::string out;
    for (std::string_view rest = pattern; !rest.empty();) {
        if (rest[0] != '\\') {
            out += rest[0];
            rest.remove_prefix(1);
            continue;
        }
        rest.remove_prefix(1);
        if (rest.empty())
            return make_error(ErrorKind::Model, fmt::format("The pattern \"{}\" ends in a backslash.", pattern));
        const char escape = rest[0];
        const auto translated = translate_escape(rest);
        if (!translated)
            return make_error(ErrorKind::Unsupported,
                              fmt::format("The splitting pattern uses \\{}, which is not supported.", escape));
        out += *translated;
    }
    return out;
}

}  // namespace

struct Splitter::Step {
    SplitStep options;
    PcrePtr<pcre2_code> code;  // null: no pattern, only the prefix space
};

Splitter::Splitter() = default;
Splitter::~Splitter() = default;

Result<std::shared_ptr<const Splitter>> Splitter::make(std::vector<SplitStep> steps) {
    std::shared_ptr<Splitter> out(new Splitter);
    for (SplitStep& options : steps) {
        Step step;
        step.options = std::move(options);
        if (!step.options.pattern.empty()) {
            std::string pattern = step.options.pattern;
            if (!step.options.literal) {
                auto translated = translate(pattern);
                if (!translated) return translated.error();
                pattern = std::move(*translated);
            }
            const std::uint32_t flags =
                PCRE2_UTF | (step.options.literal ? PCRE2_LITERAL : PCRE2_UCP | PCRE2_NEVER_BACKSLASH_C);
            int code = 0;
            PCRE2_SIZE at = 0;
            step.code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()), pattern.size(), flags, &code,
                                          &at, nullptr));
            if (step.code == nullptr)
                return make_error(ErrorKind::Model,
                                  fmt::format("The splitting pattern \"{}\" cannot be used: {} (at {}).", pattern,
                                              pcre_message(code), at));
            pcre2_jit_compile(step.code.get(), PCRE2_JIT_COMPLETE);  // without it the slower matcher is used
        }
        out->steps_.push_back(std::move(step));
    }
    return std::shared_ptr<const Splitter>(out);
}

// One call of split(): the scratch memory of the matcher and the way through the steps.
class Splitter::Run {
public:
    Run(const Splitter& splitter, const PieceSink& sink, std::stop_token stop, SplitPlace place)
        : steps_(splitter.steps_), sink_(sink), stop_(std::move(stop)), place_(place) {
        context_.reset(pcre2_match_context_create(nullptr));
        // Patterns that backtrack over a long run need more than the 32 KiB that come with the matcher.
        stack_.reset(pcre2_jit_stack_create(64 * 1024, 64 * 1024 * 1024, nullptr));
        pcre2_jit_stack_assign(context_.get(), nullptr, stack_.get());
        pcre2_set_match_limit(context_.get(), 1'000'000'000);
        pcre2_set_heap_limit(context_.get(), 1024 * 1024);  // KiB, of the matcher without JIT
        for (const Step& step : steps_)
            data_.emplace_back(step.code == nullptr ? nullptr
                                                    : pcre2_match_data_create_from_pattern(step.code.get(), nullptr));
    }

    // What follows stands behind bytes that are no text: nothing is put before it.
    void go_on_in_middle() { in_middle_ = true; }

    Status piece(std::size_t index, std::string_view text) {
        if (text.empty()) return {};
        if (index == steps_.size()) {
            if ((++count_ & 255) == 0 && stop_.stop_requested()) return tokenizing_cancelled();
            return sink_(text);
        }
        const SplitStep& options = steps_[index].options;
        std::string changed;
        if (!options.space.empty()) text = changed = replaced(text, " ", options.space);
        if (wants_prefix(options, text)) text = changed = options.prefix + std::string(text);
        return cut(index, text);
    }

private:

    // Only the first piece that a step with a prefix is given can lie at the beginning of the text.
    bool wants_prefix(const SplitStep& options, std::string_view text) {
        if (options.prefix.empty() || (in_middle_ && &options == &steps_[0].options)) return false;
        const bool begins = std::exchange(place_.begins, false);
        if (begins ? place_.continues : options.only_first) return false;
        return text.substr(0, options.prefix.size()) != options.prefix;
    }

    struct Segment {
        std::string_view text;
        bool match = false;
    };

    Status cut(std::size_t index, std::string_view text) {
        const Step& step = steps_[index];
        if (step.code == nullptr) return piece(index + 1, text);
        held_.resize(steps_.size());
        held_[index].reset();
        std::size_t done = 0, from = 0;
        while (from <= text.size()) {
            if (stop_.stop_requested()) return tokenizing_cancelled();
            const int code = match(index, text, from);
            if (code == PCRE2_ERROR_NOMATCH) break;
            if (code < 0)
                return make_error(ErrorKind::Argument, fmt::format("The text cannot be split: {}.", pcre_message(code)),
                                  "Give a shorter text.");
            const PCRE2_SIZE* ends = pcre2_get_ovector_pointer(data_[index].get());
            const std::size_t begin = ends[0], end = ends[1];
            if (end == begin) {  // an empty match: look again behind the next character
                if (begin >= text.size()) break;
                from = begin + utf8_front(text.substr(begin)).bytes;
                continue;
            }
            if (begin > done) DS_RETURN_IF_ERROR(segment(index, {text.substr(done, begin - done), false}));
            DS_RETURN_IF_ERROR(segment(index, {text.substr(begin, end - begin), true}));
            done = from = end;
        }
        if (done < text.size()) DS_RETURN_IF_ERROR(segment(index, {text.substr(done), false}));
        return flush(index);
    }

    int match(std::size_t index, std::string_view text, std::size_t from) {
        const auto run = [&](std::uint32_t flags) {
            return pcre2_match(steps_[index].code.get(), reinterpret_cast<PCRE2_SPTR>(text.data()), text.size(), from,
                               PCRE2_NO_UTF_CHECK | flags, data_[index].get(), context_.get());
        };
        const int code = run(0);
        return code == PCRE2_ERROR_JIT_STACKLIMIT ? run(PCRE2_NO_JIT) : code;
    }

    // Joins, drops or passes on, as the step's behaviour says.
    Status segment(std::size_t index, Segment next) {
        const SplitStep& options = steps_[index].options;
        next.match = next.match != options.invert;
        std::optional<Segment>& held = held_[index];
        switch (options.behavior) {
            case SplitBehavior::Isolated: return piece(index + 1, next.text);
            case SplitBehavior::Removed: return next.match ? Status() : piece(index + 1, next.text);
            case SplitBehavior::MergedWithPrevious:
                if (next.match && held && !held->match) return join(*held, next);
                break;
            case SplitBehavior::MergedWithNext:
                if (held && held->match && !next.match) {
                    const Segment joined = {joined_text(*held, next), false};
                    held.reset();
                    return piece(index + 1, joined.text);
                }
                if (!next.match) return piece(index + 1, next.text);
                break;
            case SplitBehavior::Contiguous:
                if (held && held->match == next.match) return join(*held, next);
                break;
        }
        DS_RETURN_IF_ERROR(flush(index));
        held_[index] = next;
        return {};
    }

    Status join(Segment& held, const Segment& next) {
        held = {joined_text(held, next), next.match};
        return {};
    }

    // Both lie in the same text, one behind the other.
    static std::string_view joined_text(const Segment& first, const Segment& second) {
        return {first.text.data(), first.text.size() + second.text.size()};
    }

    Status flush(std::size_t index) {
        if (!held_[index]) return {};
        const Segment segment = *held_[index];
        held_[index].reset();
        return piece(index + 1, segment.text);
    }

    const std::vector<Step>& steps_;
    const PieceSink& sink_;
    std::stop_token stop_;
    PcrePtr<pcre2_match_context> context_;
    PcrePtr<pcre2_jit_stack> stack_;
    std::vector<PcrePtr<pcre2_match_data>> data_;  // [steps]
    std::vector<std::optional<Segment>> held_;     // [steps]: may still grow
    SplitPlace place_;
    bool in_middle_ = false;
    std::uint64_t count_ = 0;
};

Status Splitter::split(std::string_view text, const PieceSink& sink, std::stop_token stop, SplitPlace place) const {
    Run run(*this, sink, stop, place);
    while (!text.empty()) {
        const std::size_t valid = utf8_valid_prefix(text);
        DS_RETURN_IF_ERROR(run.piece(0, text.substr(0, valid)));
        text.remove_prefix(valid);
        std::size_t wrong = 0;
        while (wrong < text.size()) {
            const Utf8Unit unit = utf8_front(text.substr(wrong));
            if (unit.kind == Utf8Kind::Valid) break;
            wrong += unit.bytes;
        }
        if (wrong > 0) DS_RETURN_IF_ERROR(sink(text.substr(0, wrong)));
        run.go_on_in_middle();
        text.remove_prefix(wrong);
    }
    return {};
}

}  // namespace decodescope
