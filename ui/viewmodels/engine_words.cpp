#include "ui/viewmodels/engine_words.h"

#include <QCoreApplication>

namespace decodescope {

namespace {

constexpr const char* kContext = "engine";

// The engine has no translations of its own: what it says is listed here, so that it is collected with the other texts.
[[maybe_unused]] constexpr const char* kTexts[] = {
    QT_TRANSLATE_NOOP("engine", "Computed Q, K and V for the {0} tokens of the prompt together, in {1} layers."),
    QT_TRANSLATE_NOOP("engine", "Computed Q, K and V for the single token of the prompt, in {1} layers."),
    QT_TRANSLATE_NOOP("engine", "Computed Q, K and V for {0} tokens in {1} layers."),
    QT_TRANSLATE_NOOP("engine", "Computed Q, K and V for {0} token in {1} layers."),
    QT_TRANSLATE_NOOP("engine", "Fed {0} known tokens again, in {1} layers; nothing of the text changed."),
    QT_TRANSLATE_NOOP("engine", "Fed {0} known token again, in {1} layers; nothing of the text changed."),
    QT_TRANSLATE_NOOP("engine", "Computed Q, K and V again for all {0} tokens in {1} layers: nothing had been kept."),
    QT_TRANSLATE_NOOP("engine", "Read {0} cached rows per layer, wrote {1}."),
    QT_TRANSLATE_NOOP("engine",
                      "Wrote {0} rows into the cache of every layer at once; none had to be read from before."),
    QT_TRANSLATE_NOOP("engine",
                      "Computed Q, K and V for the {0} tokens of the prompt in {2} passes, in {1} layers."),
    QT_TRANSLATE_NOOP("engine",
                      "Fed {0} known tokens again in {2} passes, in {1} layers; nothing of the text changed."),
    QT_TRANSLATE_NOOP("engine",
                      "Computed {0} rows of K and V for every layer at once; none had to be read from before, and {1} "
                      "of them stay in the cache."),
    QT_TRANSLATE_NOOP("engine",
                      "Wrote {0} rows into the cache of every layer; each pass read what the ones before it had left "
                      "there."),
    QT_TRANSLATE_NOOP("engine",
                      "Computed {0} rows of K and V for every layer; each pass read what the ones before it had left "
                      "in the cache, and {1} rows stay there."),
    QT_TRANSLATE_NOOP("engine", "The cache keeps nothing: no rows written, none to read in the next step."),
    QT_TRANSLATE_NOOP(
        "engine", "The cache grew: {0} were copied into longer buffers; at the peak, old and new took {1} together."),
    QT_TRANSLATE_NOOP("engine", "{0} of {1} reserved rows are in use; the reserve holds {2}."),
    QT_TRANSLATE_NOOP(
        "engine",
        "K and V lie in host memory: {0} were moved, layer by layer, in {1} ms; at {2} GB/s, the fastest so far, it "
        "takes {3} ms at least."),
    QT_TRANSLATE_NOOP(
        "engine",
        "K and V lie in a file: {0} were moved, layer by layer, in {1} ms; at {2} GB/s, the fastest so far, it takes "
        "{3} ms at least."),
    QT_TRANSLATE_NOOP("engine",
                      "Where K and V lie when not on the device: each layer is fetched into a pool of one layer before "
                      "it runs."),
    QT_TRANSLATE_NOOP("engine",
                      "Of {0} ms that the host waited, the device worked {1} ms; launches and gaps took {2} ms."),
    QT_TRANSLATE_NOOP("engine",
                      "Its kernels were recorded as {0} new graphs, which later steps of this kind run as one launch."),
    QT_TRANSLATE_NOOP("engine",
                      "Its kernels were recorded as a graph, which later steps of this kind run as one launch."),
    QT_TRANSLATE_NOOP("engine", "{0} positions left the cache: {1}."),
    QT_TRANSLATE_NOOP("engine", "Position {1} left the cache."),
    QT_TRANSLATE_NOOP(
        "engine", "Read {0} cached rows in every layer that sees everything and {2} in those with a window, wrote {1}."),
    QT_TRANSLATE_NOOP("engine", "The {0} layers with a window of {1} tokens let go of {2} positions: {3}."),
    QT_TRANSLATE_NOOP("engine", "The {0} layers with a window of {1} tokens let go of position {3}."),
    QT_TRANSLATE_NOOP("engine", "Layer {0} dropped position {1}: least attended to, {2} in all."),
    QT_TRANSLATE_NOOP("engine", "In the same way {0} more rows left, of {1} layers in all."),
    QT_TRANSLATE_NOOP(
        "engine",
        "Each layer dropped what it had attended to least, one row after each token beyond its budget: {0} rows of "
        "{1} layers."),
    QT_TRANSLATE_NOOP("engine", "Without the cache: {0} tokens through every layer, {1} times the products."),
    QT_TRANSLATE_NOOP("engine", "With a cache, one token would have been enough: {0} times fewer products."),
    QT_TRANSLATE_NOOP("engine", "The pass took {0} ms."),
    QT_TRANSLATE_NOOP("engine", "The pass took {0} ms, with attention captured."),
    QT_TRANSLATE_NOOP("engine",
                      "The pass took {0} ms; it used its buffers for the first time and stays out of medians."),
    QT_TRANSLATE_NOOP("engine", "Next token: {0}, with {1} % by the plain softmax."),
    QT_TRANSLATE_NOOP("engine", "The run ends here: the wanted number of tokens is reached."),
    QT_TRANSLATE_NOOP("engine", "The run ends here: the model wrote its end token."),
    QT_TRANSLATE_NOOP("engine", "The run ends here: the context of {0} tokens is full."),
    QT_TRANSLATE_NOOP("engine", "The run was stopped here."),
    QT_TRANSLATE_NOOP(
        "engine",
        "{0} and {1} at {2} tokens: no difference that this measurement can show, {3} times ({4} to {5})."),
    QT_TRANSLATE_NOOP("engine", "The recompute lane has not run yet; there is nothing to compare."),
    QT_TRANSLATE_NOOP("engine", "This run keeps no cache: both lanes do the same work."),
    QT_TRANSLATE_NOOP("engine", "{0} times faster with the cache at {1} tokens: {2} ms instead of {3} ms."),
    QT_TRANSLATE_NOOP("engine",
                      "No benefit at this length: {0} times at {1} tokens ({2} ms and {3} ms), because so few tokens "
                      "are computed again almost for free."),
    QT_TRANSLATE_NOOP("engine",
                      "No benefit at this length: {0} times at {1} tokens ({2} ms and {3} ms), because reading the "
                      "weights takes most of both passes."),
    QT_TRANSLATE_NOOP("engine",
                      "No benefit at this length: {0} times at {1} tokens ({2} ms and {3} ms), because starting a pass "
                      "costs more here than the products that the cache saves."),
    QT_TRANSLATE_NOOP("engine", "There is no comparison yet."),
    QT_TRANSLATE_NOOP("engine", "Same answer in all {0} comparisons; the largest logit difference is {1}."),
    QT_TRANSLATE_NOOP("engine",
                      "Same logits up to {1} in {0} comparisons, but the likeliest token changed in {2} of them: two "
                      "tokens were equally likely."),
    QT_TRANSLATE_NOOP("engine", "Different answer in {2} of {0} comparisons; the largest logit difference is {1}."),
    QT_TRANSLATE_NOOP("engine",
                      "Differs by design: rows have left the cache or are stored coarsely. The largest logit "
                      "difference is {1} in {0} comparisons."),
    QT_TRANSLATE_NOOP("engine",
                      "{0}: {1} ms per step, {2} times the time of {3} ({4} to {5} in the middle half of {6} pairs of "
                      "steps; faster in {7})."),
    QT_TRANSLATE_NOOP("engine",
                      "{0}: {1} ms per step; no difference from {3} that {6} pairs of steps can show, {2} times ({4} "
                      "to {5} in the middle half; faster in {7})."),
    QT_TRANSLATE_NOOP("engine", "{0}: the logits equal those of {1} bit for bit in all {2} passes."),
    QT_TRANSLATE_NOOP("engine", "{0}: the logits differ from those of {1} by {2} at most, which is rounding."),
    QT_TRANSLATE_NOOP("engine",
                      "{0}: the logits differ from those of {1} by up to {2} (at {3} tokens); KL divergence up to "
                      "{4}, on average {5} nats."),
    QT_TRANSLATE_NOOP("engine",
                      "{0}: the stored rows are off from those of {3} by up to {1} % in K and {2} % in V (relative L2 of a layer)."),
    QT_TRANSLATE_NOOP(
        "engine",
        "Warning: {0} does not suit this model. The K rows of layer {1} are off by {2} %; more than {3} % is much."),
    QT_TRANSLATE_NOOP(
        "engine",
        "Warning: {0} does not suit this model. The V rows of layer {1} are off by {2} %; more than {3} % is much."),
    QT_TRANSLATE_NOOP(
        "engine",
        "Warning: {0} changes what is likely, by a KL divergence of {1} nats at one token; more than {2} is much."),
    QT_TRANSLATE_NOOP("engine", "{0} writes the same {1} tokens as {2}."),
    QT_TRANSLATE_NOOP("engine", "{0} writes another text: the first different token is number {1} of the new ones."),
    QT_TRANSLATE_NOOP("engine", "{0} copied {1} to grow; at its peak it held {2}, for {3} that are used at the end."),
    QT_TRANSLATE_NOOP("engine", "{0} ended early: {1}"),
    QT_TRANSLATE_NOOP("engine",
                      "A source article says that preallocation is about 20 % faster. Measured here up to {6} tokens: "
                      "a step takes {0} % less time than with a growing cache ({1} to {2} % in the middle half of {3} "
                      "pairs of steps, less in {7} of them), {4} ms instead of {5} ms."),
    QT_TRANSLATE_NOOP("engine",
                      "A source article says that preallocation is about 20 % faster. Measured here up to {6} tokens: "
                      "a step takes {0} % more time than with a growing cache ({1} to {2} % in the middle half of {3} "
                      "pairs of steps, more in {7} of them), {4} ms instead of {5} ms."),
    QT_TRANSLATE_NOOP("engine",
                      "A source article says that preallocation is about 20 % faster. Measured here up to {6} tokens: "
                      "no difference that {3} pairs of steps can show; a step takes {0} % less time than with a "
                      "growing cache ({1} to {2} % in the middle half, less in {7} pairs), {4} ms and {5} ms."),
    QT_TRANSLATE_NOOP("engine", "Growing"),
    QT_TRANSLATE_NOOP(
        "engine",
        "Every step makes a new buffer that is longer by the new rows, copies the old rows into it and frees the old "
        "one. Nothing is reserved in advance, but the copies add up and for a moment old and new lie side by side."),
    QT_TRANSLATE_NOOP("engine", "Preallocated"),
    QT_TRANSLATE_NOOP("engine",
                      "Room for all tokens is allocated at the start and every row is written at its own position. "
                      "Nothing is copied, but what is reserved and not used yet is taken all the same."),
    QT_TRANSLATE_NOOP(
        "engine",
        "Tokens that the cache has room for; 0 takes prompt and new tokens together, at most the model's context."),
    QT_TRANSLATE_NOOP("engine", "One allocation for all layers instead of one for each layer."),
    QT_TRANSLATE_NOOP("engine", "Paged"),
    QT_TRANSLATE_NOOP("engine",
                      "The cache is divided into pages that a sequence takes one by one when it needs them. "
                      "Branches of a conversation share pages and copy one only when they write into it."),
    QT_TRANSLATE_NOOP(
        "engine",
        "Tokens of one page, a power of two: small pages waste less and share more, large ones need fewer entries."),
    QT_TRANSLATE_NOOP("engine",
                      "Pages of the pool; 0 takes what prompt and new tokens need together, at most the model's "
                      "context, and more when branches need them."),
    QT_TRANSLATE_NOOP("engine", "Ring (sliding window)"),
    QT_TRANSLATE_NOOP(
        "engine",
        "Only the last tokens stay: a new row takes the slot of the oldest, so memory and the work of a step stop "
        "growing. "
        "Deeper layers still carry what earlier rows read from tokens that have left, so the answer is neither that of "
        "full attention nor that of a run over the last tokens alone."),
    QT_TRANSLATE_NOOP("engine", "Tokens that stay and that a token attends to, itself included."),
    QT_TRANSLATE_NOOP("engine", "Window with sinks"),
    QT_TRANSLATE_NOOP(
        "engine",
        "The first tokens and the last ones stay (StreamingLLM): the first take up attention that has nowhere else to "
        "go, and a plain window breaks down when they leave. "
        "Positions are those of the text, or are counted inside the cache, which lets a rotary model run on beyond its "
        "context without remembering more of the text."),
    QT_TRANSLATE_NOOP("engine", "absolute: every token keeps its position in the text; rebased: positions count from "
                                "0 inside the cache."),
    QT_TRANSLATE_NOOP("engine", "Tokens at the beginning of the sequence that always stay."),
    QT_TRANSLATE_NOOP("engine", "Last tokens that stay beside the sinks, the newest included."),
    QT_TRANSLATE_NOOP("engine", "Heavy hitters (H2O)"),
    QT_TRANSLATE_NOOP(
        "engine",
        "Each layer keeps the newest tokens and those that have been attended to most; what has got the least attention "
        "leaves. "
        "Which tokens those are is known only after each row, so beyond the budget a prompt is fed token by token."),
    QT_TRANSLATE_NOOP("engine", "Tokens that each layer keeps, the recent ones included."),
    QT_TRANSLATE_NOOP("engine", "Newest tokens that always stay."),
    QT_TRANSLATE_NOOP("engine", "No cache (recompute)"),
    QT_TRANSLATE_NOOP("engine",
                      "Nothing is kept: every step runs all tokens of the sequence through the model again and uses "
                      "the last row only. This is what a decoder costs without a cache."),
    QT_TRANSLATE_NOOP("engine", "Bundled model"),
    QT_TRANSLATE_NOOP("engine", "a small LLaMA that writes short stories in English and Chinese"),
    QT_TRANSLATE_NOOP("engine", "4 bytes per element, as computed"),
    QT_TRANSLATE_NOOP("engine", "2 bytes per element, 11 bits of precision"),
    QT_TRANSLATE_NOOP("engine", "2 bytes per element, 8 bits of precision and the range of f32"),
    QT_TRANSLATE_NOOP("engine", "1 byte per element and an f32 scale per token and head"),
    QT_TRANSLATE_NOOP("engine",
                      "1 byte per element, keys with scales per channel and group of tokens, values per token, "
                      "the newest in f32; options: int8-kivi(group=32,residual=32)"),
    QT_TRANSLATE_NOOP("engine",
                      "A window drops tokens one by one, and int8-kivi keeps groups of tokens behind common "
                      "scales: a group would have to stay until its last token leaves."),
    QT_TRANSLATE_NOOP("engine",
                      "Eviction by score takes single tokens from the middle, and int8-kivi keeps groups of "
                      "tokens behind common scales."),
    QT_TRANSLATE_NOOP(
        "engine", "A page must hold whole groups of int8-kivi: its size has to be a multiple of the group."),
    QT_TRANSLATE_NOOP("engine",
                      "Pages found by their tokens hold int8-kivi rows only, and a conversation that begins "
                      "there would need its newest tokens in full precision: it would not give what it gives "
                      "alone."),
    QT_TRANSLATE_NOOP("engine",
                      "Offloaded rows are moved one by one, and int8-kivi keeps groups of tokens behind common "
                      "scales and its newest tokens apart."),
    QT_TRANSLATE_NOOP("engine",
                      "Eviction by score reads the attention of each pass, and the joint pass of a batch does not "
                      "hand it out by sequence."),
    QT_TRANSLATE_NOOP("engine",
                      "Layers of this model attend to a window and keep only that, and int8-kivi keeps groups of "
                      "tokens behind common scales: a group would have to stay until its last token leaves."),
    QT_TRANSLATE_NOOP("engine",
                      "A batch shares the pages of one table of all layers, and layers of this model that attend to a "
                      "window have a table of their own."),
    QT_TRANSLATE_NOOP("engine",
                      "Offloaded rows are fetched into a pool with room for one layer of one sequence, and a batch "
                      "computes a layer of all its sequences at once."),
    QT_TRANSLATE_NOOP("engine",
                      "Positions cannot be rebased in a model with learned positions: they are added to a token "
                      "before its K and V are computed, so every row that stays would have to be computed "
                      "again."),
};

}  // namespace

QString translated(const Sentence& sentence) {
    const std::string pattern(sentence_pattern(sentence.id));
    QString text = QCoreApplication::translate(kContext, pattern.c_str());
    if (pattern.empty()) return QString::fromStdString(sentence.english);
    for (std::size_t i = 0; i < sentence.args.size(); ++i)
        text.replace(QStringLiteral("{%1}").arg(i), QString::fromStdString(sentence.args[i]));
    return text;
}

QString translated(const std::string& engine_text) {
    return QCoreApplication::translate(kContext, engine_text.c_str());
}

}  // namespace decodescope
