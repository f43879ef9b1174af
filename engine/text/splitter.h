// Cuts text into the pre-tokens that merges never cross, by the regular expressions of a tokenizer.json.
#pragma once

#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/api/status.h"

namespace decodescope {

// The pattern of GPT-2. Its white space is the Unicode property White_Space.
extern const char* const kGpt2Pattern;

enum class SplitBehavior : std::uint8_t {
    Isolated,            // matches and the text between them are pieces
    Removed,             // matches are dropped
    MergedWithPrevious,  // a match belongs to the piece before it
    MergedWithNext,      // a match belongs to the piece behind it
    Contiguous,          // matches that touch are one piece
};

struct SplitStep {
    std::string pattern;     // a regular expression, or plain text
    bool literal = false;
    SplitBehavior behavior = SplitBehavior::Isolated;
    bool invert = false;     // swaps the roles of matches and the text between them
    // Done before the pattern is looked for:
    std::string space;         // every space becomes this; empty: spaces stay
    std::string prefix;        // put before a piece that does not begin with it
    bool only_first = false;   // the prefix is only for the beginning of the whole text
};

// What the text is a part of.
struct SplitPlace {
    bool begins = true;      // the whole text begins here
    bool continues = false;  // the whole text goes on from another one: no prefix where it begins
};

inline SplitStep gpt2_step() {
    SplitStep step;
    step.pattern = kGpt2Pattern;
    return step;
}

inline Error tokenizing_cancelled() { return make_error(ErrorKind::Cancelled, "Tokenizing was cancelled."); }

// Receives one piece after the other; the bytes live until it returns.
using PieceSink = std::function<Status(std::string_view piece)>;

// Immutable after making; may be used from several threads.
class Splitter {
public:
    // Unsupported when a pattern uses an escape whose meaning differs between regular expression libraries.
    static Result<std::shared_ptr<const Splitter>> make(std::vector<SplitStep> steps);
    ~Splitter();

    // Every step cuts each piece of the step before. Bytes that are no UTF-8 are handed on as pieces of their own.
    Status split(std::string_view text, const PieceSink& sink, std::stop_token stop, SplitPlace place = {}) const;

private:
    struct Step;
    class Run;
    Splitter();
    std::vector<Step> steps_;
};

}  // namespace decodescope
