// The shapes of a model as a diagram says them, block by block, with the parameters of every part and the arithmetic of
// its KV cache filled in. All figures are derived from the configuration.
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <vector>

#include "engine/cache/kv_format.h"
#include "engine/model/layer_kinds.h"
#include "ui/viewmodels/export_table.h"

namespace decodescope {

enum class CardTone { Plain, Query, Key, Value };

// A column of a box: "K", "1 × 256".
struct CardCell {
    QString title, detail;
    CardTone tone = CardTone::Plain;
    int weight = 1;  // of its width
};

struct CardBox {
    QString title;                 // "RMSNorm"
    QString detail;                // what it does here, with numbers; may be empty
    std::int64_t parameters = 0;   // of one layer where it is in a layer
    QString term;                  // of the glossary
    std::vector<CardCell> cells;   // drawn side by side below the title; may be empty
};

struct CardPart {
    QString name;
    std::int64_t parameters = 0;
    CardTone tone = CardTone::Plain;
};

// What of the cache belongs to one kind of layer.
struct CardKind {
    LayerKind kind;
    std::int64_t rows_at_context = 0;  // of one layer
    std::int64_t bytes_at_context = 0; // of all of them; -1: the format does not fit such layers
};

struct ModelCard {
    QString name, summary;                             // "gemma", "Gemma 3 · 18 layers · 268,098,176 parameters"
    std::vector<CardBox> before;                       // embedding, positions
    std::vector<CardBox> attention, feed_forward;      // of one layer, top to bottom
    bool parallel = false;                             // both read the same row; else one after the other
    std::vector<CardBox> after;                        // final norm, head
    std::vector<CardPart> parts;                       // of all layers; they add up to `parameters`
    std::int64_t parameters = 0;
    std::vector<bool> local;                           // [layers]
    std::int64_t window = 0;                           // of the local ones
    std::int64_t query_heads_per_kv = 1;
    std::vector<CardKind> kinds;
    std::int64_t bytes_per_token = 0;                  // of all layers while none has let go of a row; -1: no such number
    std::int64_t bytes_at_context = 0;
    QStringList cache_lines;                           // the arithmetic, one line each
};

ModelCard model_card(const ModelConfig& config, const KvFormat& format);
// Parts and kinds of layers, one row each.
ExportTable model_card_table(const ModelCard& card);
// Everything as text, for screen readers.
QString model_card_words(const ModelCard& card);

}  // namespace decodescope
