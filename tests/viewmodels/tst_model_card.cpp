// The model card: blocks, parameters and the arithmetic of the cache, for every architecture, by hand.
#include <QTest>

#include "engine/model/synthetic.h"
#include "ui/viewmodels/model_card.h"

using namespace decodescope;

namespace {

ModelConfig shape_of(Family family, std::int64_t layers, std::int64_t hidden, std::int64_t heads, std::int64_t kv_heads,
                     std::int64_t head_dim, std::int64_t feed_forward, std::int64_t vocabulary, std::int64_t context) {
    ModelConfig c;
    c.family = family;
    c.name = "model";
    c.layers = layers, c.hidden = hidden, c.heads = heads, c.kv_heads = kv_heads, c.head_dim = head_dim;
    c.feed_forward = feed_forward, c.vocabulary = vocabulary, c.context = context;
    return c;
}

ModelConfig gemma_270m() {
    ModelConfig c = shape_of(Family::Gemma3, 18, 640, 4, 1, 256, 2048, 262144, 32768);
    c.window = 512;
    for (int layer = 0; layer < 18; ++layer) c.local_layers.push_back((layer + 1) % 6 != 0);
    c.rope_theta = 1000000.0f, c.local_rope_theta = 10000.0f;
    c.query_scale = 0.0625f, c.embedding_scale = 25.25f;
    return c;
}

constexpr KvFormat kF16{ElementType::F16, ElementType::F16};

const CardBox* find(const std::vector<CardBox>& boxes, const char* title) {
    for (const CardBox& box : boxes)
        if (box.title == QLatin1String(title)) return &box;
    return nullptr;
}

}  // namespace

class TestModelCard : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void parts_add_up_in_every_family() {
        for (int family = 0; family <= static_cast<int>(kLastFamily); ++family)
            for (const bool tied : {false, true}) {
                ModelConfig c = shape_of(static_cast<Family>(family), 3, 48, 6, 2, 10, 80, 97, 64);
                c.tied_head = tied;
                c.parallel_blocks = c.family == Family::GptNeoX;
                const ModelCard card = model_card(c, {});
                std::int64_t sum = 0, of_layer = 0, outside = 0;
                for (const CardPart& part : card.parts) sum += part.parameters;
                for (const auto* boxes : {&card.attention, &card.feed_forward})
                    for (const CardBox& box : *boxes) of_layer += box.parameters;
                for (const auto* boxes : {&card.before, &card.after})
                    for (const CardBox& box : *boxes) outside += box.parameters;
                QCOMPARE(sum, c.parameters());
                QCOMPARE(outside + 3 * of_layer, c.parameters());
            }
    }

    // 12 layers of 768: 50,257 x 768 rows, 1,024 x 768 positions, norms with biases, no rotation.
    void gpt2_small() {
        const ModelCard card = model_card(*synthetic_config("gpt2-small"), kF16);
        QCOMPARE(card.parameters, 124439808);
        QCOMPARE(card.before.size(), std::size_t{2});
        QCOMPARE(card.before[0].parameters, 38597376);
        QCOMPARE(card.before[1].parameters, 786432);
        QVERIFY(find(card.attention, "Rotation of Q and K") == nullptr);
        QCOMPARE(find(card.attention, "LayerNorm")->parameters, 1536);
        QCOMPARE(find(card.attention, "Q, K and V")->parameters, 3 * (768 * 768 + 768));
        QVERIFY(find(card.attention, "Q, K and V")->detail.startsWith(QStringLiteral("each query head has its own")));
        QCOMPARE(find(card.feed_forward, "MLP, GELU (tanh)")->parameters, 2 * 768 * 3072 + 3072 + 768);
        QCOMPARE(find(card.feed_forward, "MLP, GELU (tanh)")->cells.size(), std::size_t{2});
        QVERIFY(card.after[1].detail.contains(QStringLiteral("tied")));
        QCOMPARE(card.after[1].parameters, 0);
        QCOMPARE(card.bytes_per_token, 36864);
        QCOMPARE(card.bytes_at_context, 37748736);
        QVERIFY(card.cache_lines[0].contains(
            QStringLiteral("2 (K and V) · layers 12 · KV heads 12 · width 64 · bytes 2 = 36,864 B per token")));
        QCOMPARE(card.query_heads_per_kv, 1);
    }

    // Llama-3-8B: 8 KV heads for 32 query heads, 128 KiB per token in f16.
    void llama_with_shared_heads() {
        ModelConfig c = shape_of(Family::Llama, 32, 4096, 32, 8, 128, 14336, 128256, 8192);
        c.tied_head = false;
        c.rope_theta = 500000.0f;
        const ModelCard card = model_card(c, kF16);
        QCOMPARE(card.parameters, 8030261248);
        QCOMPARE(card.bytes_per_token, 131072);
        QCOMPARE(card.bytes_at_context, std::int64_t{1} << 30);
        QCOMPARE(find(card.attention, "Q, K and V")->detail, QStringLiteral("4 query heads share each K and V"));
        QCOMPARE(find(card.attention, "Q, K and V")->cells[1].detail, QStringLiteral("8 × 128"));
        QCOMPARE(find(card.attention, "Rotation of Q and K")->detail, QStringLiteral("base 500,000"));
        QCOMPARE(find(card.feed_forward, "MLP, SwiGLU")->parameters, 3 * 4096 * 14336);
        QCOMPARE(find(card.after, "Head")->parameters, 128256 * 4096);
        QVERIFY(card.cache_lines.join(QLatin1Char('\n')).contains(QStringLiteral("4 times as much")));
        QVERIFY(!card.parallel && card.window == 0);
    }

    // Mistral with a window shorter than its context: every layer is local.
    void mistral_keeps_its_window() {
        ModelConfig c = shape_of(Family::Mistral, 32, 4096, 32, 8, 128, 14336, 32000, 32768);
        c.window = 4096;
        c.tied_head = false;
        const ModelCard card = model_card(c, kF16);
        QCOMPARE(card.kinds.size(), std::size_t{1});
        QCOMPARE(card.kinds[0].rows_at_context, 4096);
        QCOMPARE(card.bytes_at_context, std::int64_t{512} << 20);
        QVERIFY(find(card.attention, "Attention")->detail.startsWith(
            QStringLiteral("every layer sees the last 4,096 tokens")));
        c.window = 32768;  // as long as the context
        QCOMPARE(model_card(c, kF16).bytes_at_context, std::int64_t{4} << 30);
        QCOMPARE(model_card(c, kF16).window, 0);
    }

    // Qwen3-0.6B: heads of 128 although 1024 / 16 is 64, a norm for each head of Q and K, tied.
    void qwen3_norms_its_heads() {
        const ModelConfig c = shape_of(Family::Qwen3, 28, 1024, 16, 8, 128, 3072, 151936, 40960);
        const ModelCard card = model_card(c, kF16);
        QCOMPARE(card.parameters, 596049920);
        QCOMPARE(find(card.attention, "QK norm")->parameters, 256);
        QCOMPARE(find(card.attention, "Output")->detail, QStringLiteral("2,048 → 1,024"));
        QCOMPARE(card.bytes_per_token, 2 * 28 * 8 * 128 * 2);
    }

    // Pythia-70m: both blocks read the same row, 16 of 64 dimensions turn, biases everywhere.
    void neox_runs_its_blocks_side_by_side() {
        ModelConfig c = shape_of(Family::GptNeoX, 6, 512, 8, 8, 64, 2048, 50304, 2048);
        c.parallel_blocks = true;
        c.rotary_dim = 16;
        c.tied_head = false;
        const ModelCard card = model_card(c, {});
        QCOMPARE(card.parameters, 70426624);
        QVERIFY(card.parallel);
        QVERIFY(find(card.attention, "Rotation of Q and K")->detail.endsWith(
            QStringLiteral("the first 16 of 64 dimensions")));
        QVERIFY(find(card.feed_forward, "MLP, GELU") != nullptr);
        QCOMPARE(card.bytes_per_token, 2 * 6 * 8 * 64 * 4);
    }

    // Gemma 3 270M: 15 of 18 layers keep 512 rows, the others everything; norms before and after both blocks.
    void gemma3_keeps_two_kinds_of_rows() {
        const ModelCard card = model_card(gemma_270m(), kF16);
        QCOMPARE(card.parameters, 268098176);
        QCOMPARE(card.kinds.size(), std::size_t{2});
        QCOMPARE(card.kinds[0].rows_at_context, 32768);
        QCOMPARE(card.kinds[1].rows_at_context, 512);
        QCOMPARE(card.bytes_per_token, 18432);
        QCOMPARE(card.bytes_at_context, (3 * 32768 + 15 * 512) * 1024);
        QCOMPARE(card.kinds[0].bytes_at_context + card.kinds[1].bytes_at_context, card.bytes_at_context);
        const QString lines = card.cache_lines.join(QLatin1Char('\n'));
        QVERIFY2(lines.contains(QStringLiteral("(3 global layers × 32,768 rows + 15 local layers × 512 rows) × 1,024 B")),
                 qPrintable(lines));
        QVERIFY2(lines.contains(QStringLiteral("576 MiB if no layer had a window")), qPrintable(lines));
        QCOMPARE(std::count(card.local.begin(), card.local.end(), true), 15);
        QCOMPARE(card.attention.size() - 1, std::size_t{6});  // norm, QKV, QK norm, rotation, attention, output, norm
        QVERIFY(find(card.attention, "Rotation of Q and K")->detail.contains(QStringLiteral("in local layers 10,000")));
        QVERIFY(find(card.attention, "Q, K and V")->detail.contains(QStringLiteral("all 4 query heads share one")));
        QVERIFY(find(card.attention, "Attention")->detail.contains(QStringLiteral("scores times 0.0625")));
        QVERIFY(find(card.feed_forward, "MLP, GeGLU") != nullptr);
        QVERIFY(card.before[0].detail.contains(QStringLiteral("times 25.25")));
        QVERIFY(model_card_words(card).contains(QStringLiteral("3 global layers see all tokens so far")));
        QCOMPARE(model_card_table(card).rows.size(), card.parts.size() + 2);
    }

    void formats_of_the_cache() {
        const ModelConfig c = shape_of(Family::Llama, 4, 64, 4, 2, 16, 96, 97, 128);
        // int8: 16 codes and a scale of 4 bytes; f16: 32 bytes.
        const ModelCard apart = model_card(c, {ElementType::I8, ElementType::F16});
        QCOMPARE(apart.bytes_per_token, 4 * 2 * (20 + 32));
        QVERIFY(apart.cache_lines[0].contains(QStringLiteral("bytes of a K row 20 + of a V row 32")));
        const ModelCard grouped = model_card(c, *parse_kv_format("int8-kivi"));
        QCOMPARE(grouped.bytes_per_token, -1);
        QCOMPARE(grouped.bytes_at_context, KvShape::of(c, *parse_kv_format("int8-kivi")).stored_bytes(128));
        QVERIFY(grouped.cache_lines[0].contains(QStringLiteral("int8-kivi")));
    }
};

QTEST_GUILESS_MAIN(TestModelCard)
#include "tst_model_card.moc"
