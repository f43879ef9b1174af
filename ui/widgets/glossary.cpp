#include "ui/widgets/glossary.h"

#include <QCoreApplication>
#include <QWidget>

namespace decodescope {
namespace {

struct Entry {
    const char *term, *name, *sentence;
};

constexpr Entry kEntries[] = {
    {"token", QT_TRANSLATE_NOOP("Glossary", "Token"),
     QT_TRANSLATE_NOOP("Glossary", "The unit a model reads and writes: a word, a part of a word, or one character.")},
    {"prompt", QT_TRANSLATE_NOOP("Glossary", "Prompt"),
     QT_TRANSLATE_NOOP("Glossary", "The text given to the model before it writes anything.")},
    {"prefill", QT_TRANSLATE_NOOP("Glossary", "Prefill"),
     QT_TRANSLATE_NOOP("Glossary",
                       "The first pass: all tokens of the prompt go through the model at once and fill the cache.")},
    {"decode", QT_TRANSLATE_NOOP("Glossary", "Decode"),
     QT_TRANSLATE_NOOP("Glossary", "Writing: one token per step, each step reads what the cache kept.")},
    {"step", QT_TRANSLATE_NOOP("Glossary", "Step"),
     QT_TRANSLATE_NOOP("Glossary", "One pass through the model; step 0 is the prefill.")},
    {"layer", QT_TRANSLATE_NOOP("Glossary", "Layer"),
     QT_TRANSLATE_NOOP(
         "Glossary",
         "One block of the model: attention, then a feed-forward network. Each layer has its own K and V.")},
    {"head", QT_TRANSLATE_NOOP("Glossary", "Head"),
     QT_TRANSLATE_NOOP("Glossary",
                       "One of several attentions that run side by side in a layer, each looking for something else.")},
    {"kv-head", QT_TRANSLATE_NOOP("Glossary", "KV head"),
     QT_TRANSLATE_NOOP("Glossary", "A pair of K and V that several query heads share, so that the cache is smaller.")},
    {"position", QT_TRANSLATE_NOOP("Glossary", "Position"),
     QT_TRANSLATE_NOOP("Glossary", "The place of a token in the sequence, from 0.")},
    {"query", QT_TRANSLATE_NOOP("Glossary", "Q (query)"),
     QT_TRANSLATE_NOOP("Glossary", "What the token being computed asks for; used once, never kept.")},
    {"key", QT_TRANSLATE_NOOP("Glossary", "K (key)"),
     QT_TRANSLATE_NOOP("Glossary",
                       "What a token offers to be found by; kept so that later tokens need not compute it again.")},
    {"value", QT_TRANSLATE_NOOP("Glossary", "V (value)"),
     QT_TRANSLATE_NOOP("Glossary", "What a token hands over to those that read it; kept beside its key.")},
    {"attention", QT_TRANSLATE_NOOP("Glossary", "Attention"),
     QT_TRANSLATE_NOOP("Glossary",
                       "The share with which the token being computed reads each earlier token; a row sums to 1.")},
    {"kv-cache", QT_TRANSLATE_NOOP("Glossary", "KV cache"),
     QT_TRANSLATE_NOOP(
         "Glossary",
         "Keys and values of all earlier tokens, kept so that a step computes one token and not all of them.")},
    {"recompute", QT_TRANSLATE_NOOP("Glossary", "Recompute"),
     QT_TRANSLATE_NOOP("Glossary", "No cache: every step sends all tokens through the model again.")},
    {"growing", QT_TRANSLATE_NOOP("Glossary", "Growing"),
     QT_TRANSLATE_NOOP("Glossary",
                       "A cache that is copied to a larger buffer for every token, as simple implementations do.")},
    {"preallocated", QT_TRANSLATE_NOOP("Glossary", "Preallocated"),
     QT_TRANSLATE_NOOP("Glossary",
                       "A cache whose room is set aside at the start; a step writes into the next free slot.")},
    {"slot", QT_TRANSLATE_NOOP("Glossary", "Slot"),
     QT_TRANSLATE_NOOP("Glossary", "Room for K and V of one token in every layer.")},
    {"reserved", QT_TRANSLATE_NOOP("Glossary", "Reserved"),
     QT_TRANSLATE_NOOP("Glossary", "Memory that is set aside for tokens still to come, and empty so far.")},
    {"cache-map", QT_TRANSLATE_NOOP("Glossary", "Cache map"),
     QT_TRANSLATE_NOOP("Glossary", "Where each token's K and V lie in memory, beside the order of the text.")},
    {"paged", QT_TRANSLATE_NOOP("Glossary", "Paged"),
     QT_TRANSLATE_NOOP("Glossary", "A cache divided into pages; a conversation takes one when the last is full.")},
    {"page", QT_TRANSLATE_NOOP("Glossary", "Page"),
     QT_TRANSLATE_NOOP("Glossary", "A fixed number of slots side by side that conversations own together or alone.")},
    {"waste", QT_TRANSLATE_NOOP("Glossary", "Waste"),
     QT_TRANSLATE_NOOP("Glossary", "Slots of the last page that hold no token yet; at most one page less one slot.")},
    {"shared-page", QT_TRANSLATE_NOOP("Glossary", "Shared page"),
     QT_TRANSLATE_NOOP("Glossary",
                       "A page that several conversations own; whoever writes into it first takes a copy.")},
    {"reclaimed", QT_TRANSLATE_NOOP("Glossary", "Reclaimed"),
     QT_TRANSLATE_NOOP("Glossary", "A free page taken for something else: the one that has been free the longest.")},
    {"slab", QT_TRANSLATE_NOOP("Glossary", "Slab"),
     QT_TRANSLATE_NOOP("Glossary", "One allocation for all layers; otherwise each layer has its own.")},
    {"write-pointer", QT_TRANSLATE_NOOP("Glossary", "Write pointer"),
     QT_TRANSLATE_NOOP("Glossary", "The slot that the next token takes; in a ring it goes round and round.")},
    {"ring", QT_TRANSLATE_NOOP("Glossary", "Ring"),
     QT_TRANSLATE_NOOP("Glossary", "A cache of fixed size: the newest token takes the slot of the oldest.")},
    {"evicted", QT_TRANSLATE_NOOP("Glossary", "Evicted"),
     QT_TRANSLATE_NOOP("Glossary", "K and V that were dropped to make room; later tokens cannot read them any more.")},
    {"copied", QT_TRANSLATE_NOOP("Glossary", "Copied"),
     QT_TRANSLATE_NOOP("Glossary", "Bytes that were moved from the old buffer to the new one because the cache grew.")},
    {"peak", QT_TRANSLATE_NOOP("Glossary", "Peak"),
     QT_TRANSLATE_NOOP(
         "Glossary",
         "The most cache memory alive at once during the step: old and new buffer together while growing.")},
    {"rms", QT_TRANSLATE_NOOP("Glossary", "RMS"),
     QT_TRANSLATE_NOOP("Glossary", "Root mean square: the typical size of the numbers in a row of K or V.")},
    {"mean-over-heads", QT_TRANSLATE_NOOP("Glossary", "Mean over heads"),
     QT_TRANSLATE_NOOP("Glossary", "The average of the maps of all heads in the layer.")},
    {"threshold", QT_TRANSLATE_NOOP("Glossary", "Threshold"),
     QT_TRANSLATE_NOOP("Glossary",
                       "Weights below it are drawn as 0, so that the strong ones stand out; the numbers stay exact.")},
    {"induction", QT_TRANSLATE_NOOP("Glossary", "Induction head"),
     QT_TRANSLATE_NOOP("Glossary", "A head that finds an earlier mention of the token and reads what came after it.")},
    {"previous", QT_TRANSLATE_NOOP("Glossary", "Previous-token head"),
     QT_TRANSLATE_NOOP("Glossary", "A head that reads the token just before.")},
    {"first", QT_TRANSLATE_NOOP("Glossary", "First-token head"),
     QT_TRANSLATE_NOOP("Glossary", "A head that rests on the first token when it has nothing to look for.")},
    {"measured", QT_TRANSLATE_NOOP("Glossary", "[measured]"),
     QT_TRANSLATE_NOOP("Glossary", "Counted or timed in this run.")},
    {"derived", QT_TRANSLATE_NOOP("Glossary", "[derived]"),
     QT_TRANSLATE_NOOP("Glossary", "Computed from a formula and the shapes.")},
    {"illustrative", QT_TRANSLATE_NOOP("Glossary", "[illustrative]"),
     QT_TRANSLATE_NOOP("Glossary", "Drawn to explain; not a figure of this run.")},
    {"not-captured", QT_TRANSLATE_NOOP("Glossary", "Not captured"),
     QT_TRANSLATE_NOOP("Glossary", "The weights were computed but not recorded; this is not a weight of 0.")},
    {"logits", QT_TRANSLATE_NOOP("Glossary", "Logits"),
     QT_TRANSLATE_NOOP("Glossary",
                       "One score per token of the vocabulary; the sampler picks the next token from them.")},
    {"temperature", QT_TRANSLATE_NOOP("Glossary", "Temperature"),
     QT_TRANSLATE_NOOP("Glossary",
                       "How freely the sampler picks: 0 takes the likeliest token, 1 follows the probabilities.")},
    {"top-k", QT_TRANSLATE_NOOP("Glossary", "top-k"),
     QT_TRANSLATE_NOOP("Glossary", "Only the k likeliest tokens may be picked.")},
    {"top-p", QT_TRANSLATE_NOOP("Glossary", "top-p"),
     QT_TRANSLATE_NOOP("Glossary", "Only the likeliest tokens that together reach the probability p may be picked.")},
    {"seed", QT_TRANSLATE_NOOP("Glossary", "Seed"),
     QT_TRANSLATE_NOOP("Glossary",
                       "The number that the sampler's dice start from: the same seed gives the same text.")},
    {"weights", QT_TRANSLATE_NOOP("Glossary", "Weights"),
     QT_TRANSLATE_NOOP("Glossary", "The numbers the model learned; read in every step, never changed.")},
    {"activations", QT_TRANSLATE_NOOP("Glossary", "Activations"),
     QT_TRANSLATE_NOOP("Glossary", "Intermediate results of a pass; overwritten by the next one.")},
    {"flops", QT_TRANSLATE_NOOP("Glossary", "FLOPs"),
     QT_TRANSLATE_NOOP("Glossary", "Multiplications and additions of a pass, by the formula.")},
    {"bandwidth", QT_TRANSLATE_NOOP("Glossary", "Bandwidth"),
     QT_TRANSLATE_NOOP("Glossary", "Bytes per second between memory and processor; decoding mostly waits for it.")},
    {"speed-up", QT_TRANSLATE_NOOP("Glossary", "Speed-up"),
     QT_TRANSLATE_NOOP("Glossary", "Time without the cache divided by time with it, at the same length.")},
    {"race", QT_TRANSLATE_NOOP("Glossary", "Race"),
     QT_TRANSLATE_NOOP("Glossary", "The same tokens computed twice, with the cache and without it, each step timed.")},
    {"sweep", QT_TRANSLATE_NOOP("Glossary", "Sweep"),
     QT_TRANSLATE_NOOP("Glossary", "Time per token at chosen lengths and with chosen caches, repeated, with medians.")},
    {"rope", QT_TRANSLATE_NOOP("Glossary", "RoPE"),
     QT_TRANSLATE_NOOP("Glossary",
                       "Rotary position embedding: K and Q are turned by an angle that grows with the position.")},
    {"mlp", QT_TRANSLATE_NOOP("Glossary", "MLP"),
     QT_TRANSLATE_NOOP("Glossary", "The feed-forward network of a layer; works on each token alone.")},
    {"embedding", QT_TRANSLATE_NOOP("Glossary", "Embedding"),
     QT_TRANSLATE_NOOP("Glossary", "The table with a row of numbers for each token; the row is where a pass begins.")},
    {"qk-norm", QT_TRANSLATE_NOOP("Glossary", "QK norm"),
     QT_TRANSLATE_NOOP("Glossary",
                       "Each head of Q and of K is scaled to a common size before the rotation; K is kept as it is then.")},
    {"local-layer", QT_TRANSLATE_NOOP("Glossary", "Local layer"),
     QT_TRANSLATE_NOOP("Glossary",
                       "A layer of the model that attends to the newest tokens only, and whose cache keeps no more.")},
    {"global-layer", QT_TRANSLATE_NOOP("Glossary", "Global layer"),
     QT_TRANSLATE_NOOP("Glossary", "A layer that attends to every token so far; its cache grows with the text.")},
    {"window", QT_TRANSLATE_NOOP("Glossary", "Window"),
     QT_TRANSLATE_NOOP("Glossary", "How many of the newest tokens are attended to, the token itself included.")},
    {"tied-head", QT_TRANSLATE_NOOP("Glossary", "Tied head"),
     QT_TRANSLATE_NOOP("Glossary", "The head that gives the logits is the token embedding again: one matrix, read twice.")},
    {"norm", QT_TRANSLATE_NOOP("Glossary", "Norm"),
     QT_TRANSLATE_NOOP("Glossary", "Scales a token's vector to a common size before each half of a layer.")},
};

const Entry* find(const QString& term) {
    for (const Entry& entry : kEntries)
        if (term == QLatin1String(entry.term)) return &entry;
    return nullptr;
}

}  // namespace

QString glossary(const QString& term) {
    const Entry* entry = find(term);
    return entry == nullptr ? QString() : QCoreApplication::translate("Glossary", entry->sentence);
}

QString glossary_name(const QString& term) {
    const Entry* entry = find(term);
    return entry == nullptr ? QString() : QCoreApplication::translate("Glossary", entry->name);
}

QStringList glossary_terms() {
    QStringList terms;
    for (const Entry& entry : kEntries) terms << QString::fromLatin1(entry.term);
    return terms;
}

void explain(QWidget* widget, const QString& term) {
    const QString sentence = glossary(term);
    if (widget == nullptr || sentence.isEmpty()) return;
    widget->setToolTip(QStringLiteral("%1: %2").arg(glossary_name(term), sentence));
    widget->setAccessibleDescription(sentence);
}

}  // namespace decodescope
