// Layers that see everything and layers with a window: how many, which rows, which products.
#include "engine/model/layer_kinds.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace decodescope {
namespace {

ModelConfig mixed() {
    ModelConfig config;
    config.layers = 5;
    config.heads = 4;
    config.kv_heads = 2;
    config.head_dim = 8;
    config.hidden = 24;
    config.feed_forward = 40;
    config.vocabulary = 97;
    config.context = 64;
    config.window = 6;
    config.local_layers = {true, true, false, true, true};
    return config;
}

TEST(LayerKinds, GlobalOnesFirst) {
    EXPECT_EQ(layer_kinds(mixed()), (std::vector<LayerKind>{{1, 0}, {4, 6}}));
    EXPECT_EQ(local_kind(mixed()), (LayerKind{4, 6}));
    ModelConfig config = mixed();
    config.local_layers.clear();  // with a window all are local
    EXPECT_EQ(layer_kinds(config), (std::vector<LayerKind>{{5, 6}}));
    config.window = 64;  // as long as the context: it never ends
    EXPECT_EQ(layer_kinds(config), (std::vector<LayerKind>{{5, 0}}));
    EXPECT_EQ(local_kind(config), LayerKind{});
    config.window = 0;
    EXPECT_EQ(layer_kinds(config), (std::vector<LayerKind>{{5, 0}}));
}

TEST(LayerKinds, RowsAreThoseOfTheWindowAtMost) {
    const LayerKind local{3, 6}, all{1, 0};
    for (const std::int64_t tokens : {1, 5, 6, 7, 1 << 20}) {
        EXPECT_EQ(local.rows(tokens), std::min<std::int64_t>(tokens, 6));
        EXPECT_EQ(all.rows(tokens), tokens);
    }
}

// Row by row: the row at position p reads min(p + 1, W) entries.
TEST(LayerKinds, EntriesThatAPassReads) {
    for (const std::int64_t window : {0, 1, 6, 11})
        for (const std::int64_t past : {0, 1, 5, 6, 7, 30})
            for (const std::int64_t rows : {1, 2, 6, 7, 19}) {
                std::int64_t sum = 0;
                for (std::int64_t p = past; p < past + rows; ++p)
                    sum += window > 0 ? std::min(p + 1, window) : p + 1;
                EXPECT_EQ(attended_entries(past, rows, window), sum) << window << " " << past << " " << rows;
            }
}

// By hand: one layer reads 21 entries, four read 6.
TEST(LayerKinds, ProductsOfAStep) {
    const std::int64_t n = 5 * (24 * 32 + 2 * 24 * 16 + 32 * 24 + 3 * 24 * 40);
    ASSERT_EQ(mixed().layer_matrix_parameters(), n);
    EXPECT_EQ(pass_flops(mixed(), 20, 1), 2 * n + 4 * 4 * 8 * (21 + 4 * 6) + 2 * 97 * 24);
    EXPECT_EQ(pass_flops(mixed(), 0, 3), 2 * n * 3 + 4 * 4 * 8 * 5 * (1 + 2 + 3) + 2 * 97 * 24);
}

}  // namespace
}  // namespace decodescope
