// A synthetic run without a model: deterministic, plausible, and quick to make up to 2048 tokens, so that windows,
// files and exports can be tested alone. Everything in it is invented.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "engine/trace/run_recording.h"

namespace decodescope {

struct FakeRunOptions {
    int steps = 12;  // decode steps after the prefill; prompt + steps at most 2048
    int prompt_tokens = 20;
    int layers = 4, heads = 6, kv_heads = 2, head_dim = 8;
    std::string language = "en";         // or "zh_CN": one token per character
    // "growing", "ring" with `window`: older positions are evicted, or "paged" with `page` and `shared_pages`.
    std::string cache = "preallocated";
    int window = 0;
    int page = 16;
    int shared_pages = 0;  // at the front, with another sequence that has a page of its own between each two
    bool capture = true;   // attention of every row, layer and head
    bool profile = true;   // times per stage
    bool race = true;      // a race point at every step
    bool placed = true;    // where rows lie is recorded; false: as files from before the cache map
    bool device = false;   // apart from the host, with a recorded graph in the second decode step
    bool finished = true;  // the last step has stop reason "length"
    std::int64_t attention_bytes = std::int64_t{384} << 20;
};

// Attention heads of every layer, by index modulo 4: previous token, first token, induction (what followed the same
// token before), mixed. Every row sums to 1 over the entries it sees. Names of all tokens are recorded.
std::shared_ptr<RunRecording> make_fake_run(const FakeRunOptions& options);

// One more decode step with the next token of the same text, for tests of live updates. Same options as at the start.
void append_fake_step(RunRecording& recording, const FakeRunOptions& options);

// Facts of the run that make_fake_run describes.
RunFacts fake_run_facts(const FakeRunOptions& options);

// Token at a position of the endless invented text.
std::int32_t fake_token(const FakeRunOptions& options, std::int32_t position);

}  // namespace decodescope
