#include "tests/support/fake_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <vector>

namespace decodescope {

namespace {

struct FakeToken {
    const char* display;
    const char* text;
};

// The first token is special; the last two are the halves of one character.
constexpr FakeToken kEnglish[] = {{"<|bos|>", ""},
                                  {"Mira", "Mira"},
                                  {" puts", " puts"},
                                  {" the", " the"},
                                  {" key", " key"},
                                  {" in", " in"},
                                  {" blue", " blue"},
                                  {" box", " box"},
                                  {".", "."},
                                  {" Tom", " Tom"},
                                  {" takes", " takes"},
                                  {" red", " red"},
                                  {" lamp", " lamp"},
                                  {" from", " from"},
                                  {" garden", " garden"},
                                  {" Where", " Where"},
                                  {" is", " is"},
                                  {"?", "?"},
                                  {" The", " The"},
                                  {"\\n", "\n"},
                                  {"\\xF0\\x9F", ""},
                                  {"\\x94\\x91", "\xF0\x9F\x94\x91"}};
constexpr FakeToken kChinese[] = {{"<|bos|>", ""},    {"小", "小"},
                                  {"明", "明"},       {"把", "把"},
                                  {"钥", "钥"},       {"匙", "匙"},
                                  {"放", "放"},       {"在", "在"},
                                  {"蓝", "蓝"},       {"盒", "盒"},
                                  {"里", "里"},       {"。", "。"},
                                  {"红", "红"},       {"灯", "灯"},
                                  {"花", "花"},       {"园", "园"},
                                  {"哪", "哪"},       {"？", "？"},
                                  {"的", "的"},       {"\\n", "\n"},
                                  {"\\xF0\\x9F", ""}, {"\\x94\\x91", "\xF0\x9F\x94\x91"}};
static_assert(std::size(kEnglish) == std::size(kChinese));
constexpr auto kTokens = static_cast<std::int32_t>(std::size(kEnglish));

// One story of 28 tokens, told again and again.
constexpr int kEnglishStory[] = {1,  2, 3,  4, 5,  3,  6, 7, 8,  9,  10, 3,  11, 12,
                                 13, 3, 14, 8, 15, 16, 3, 4, 17, 18, 4,  16, 5,  3};
constexpr int kChineseStory[] = {1,  2,  3, 4, 5,  6,  7,  8,  9, 10, 11, 1,  2,  3,
                                 12, 13, 6, 7, 14, 15, 10, 11, 4, 5,  7,  16, 10, 17};

bool chinese(const FakeRunOptions& options) { return options.language == "zh_CN"; }
const FakeToken& token_of(const FakeRunOptions& options, std::int32_t id) {
    return chinese(options) ? kChinese[id] : kEnglish[id];
}

// 0..1, the same everywhere.
double noise(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = a * 0x9E3779B97F4A7C15u + b + 0xD1B54A32D192ED03u;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9u;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBu;
    return static_cast<double>((x ^ (x >> 31)) >> 11) * 0x1p-53;
}

std::int32_t first_visible(const FakeRunOptions& options, std::int32_t position) {
    return options.window > 0 ? std::max(0, position + 1 - options.window) : 0;
}

// The position after the latest earlier occurrence of the same token; the position itself when there is none.
std::int32_t induction_target(const FakeRunOptions& options, std::int32_t position, std::int32_t first) {
    for (std::int32_t earlier = position - 1; earlier >= std::max(first, position - 60); --earlier)
        if (fake_token(options, earlier) == fake_token(options, position)) return earlier + 1;
    return position;
}

void fill_head(std::span<float> row, int head, int layer, std::int32_t target, std::uint64_t seed) {
    const auto count = static_cast<std::int32_t>(row.size());
    const float background = head % 4 == 3 ? 0.9f : 0.12f;
    double sum = 0;
    for (std::int32_t e = 0; e < count; ++e) {
        const auto age = static_cast<float>(count - e);
        const auto jitter =
            static_cast<float>(((seed + static_cast<std::uint64_t>(e)) * 2654435761u >> 7) & 255u) * (1.0f / 255.0f);
        row[e] = (0.2f + jitter) / (head % 4 == 3 ? std::sqrt(age) : age + 4.0f);
        sum += row[e];
    }
    const auto scale = static_cast<float>(background / sum);
    for (float& weight : row) weight *= scale;
    const float own = 0.05f * static_cast<float>(layer % 3);
    row[count - 1] += own;
    row[target] += 1.0f - background - own;
}

struct FakeAttention {
    std::vector<float> weights;  // [layers, heads, entries]
    std::vector<const float*> layers;
    std::vector<std::int32_t> positions;
};

FakeAttention fake_attention(const FakeRunOptions& options, std::int32_t position) {
    FakeAttention result;
    const std::int32_t first = first_visible(options, position);
    const auto entries = static_cast<std::size_t>(position + 1 - first);
    if (options.window > 0)
        for (std::int32_t p = first; p <= position; ++p) result.positions.push_back(p);
    if (!options.capture) return result;
    result.weights.resize(static_cast<std::size_t>(options.layers * options.heads) * entries);
    const std::array<std::int32_t, 4> targets = {std::max(first, position - 1), first,
                                                 induction_target(options, position, first), position};
    for (int layer = 0; layer < options.layers; ++layer) {
        float* rows = result.weights.data() + static_cast<std::size_t>(layer * options.heads) * entries;
        result.layers.push_back(rows);
        for (int head = 0; head < options.heads; ++head)
            fill_head({rows + static_cast<std::size_t>(head) * entries, entries}, head, layer,
                      targets[static_cast<std::size_t>(head % 4)] - first,
                      static_cast<std::uint64_t>(position * 31 + layer * 7 + head));
    }
    return result;
}

void append_fake_row(RunRecording& recording, const FakeRunOptions& options, std::int32_t position, std::int32_t step) {
    const std::int32_t id = fake_token(options, position);
    const FakeToken& token = token_of(options, id);
    RunRecording::NewRow row;
    row.row = {id,     position, step, step == 0 ? Phase::Prefill : Phase::Decode, position >= options.prompt_tokens,
               id == 0};
    row.display = token.display;
    row.text = token.text;
    std::vector<float> k(static_cast<std::size_t>(options.layers)), v(k.size());
    for (std::size_t layer = 0; layer < k.size(); ++layer) {
        k[layer] = static_cast<float>(0.8 + 0.6 * noise(static_cast<std::uint64_t>(position), layer) +
                                      (position == 0 ? 1.5 : 0.0));
        v[layer] = static_cast<float>(0.3 + 0.3 * noise(static_cast<std::uint64_t>(position), layer + 100));
    }
    const FakeAttention attention = fake_attention(options, position);
    recording.append_row(row, k, v, attention.layers, position + 1 - first_visible(options, position),
                         attention.positions);
}

std::int64_t kv_row_bytes(const FakeRunOptions& options) {
    return std::int64_t{2} * options.layers * options.kv_heads * options.head_dim * 4;
}

// Page of the pool that holds the i-th page of the sequence: shared ones first, then every second one.
std::int32_t fake_page(const FakeRunOptions& options, std::int32_t i) {
    return i < options.shared_pages ? i : 2 * i - options.shared_pages;
}

std::int32_t fake_pages(const FakeRunOptions& options, std::int32_t length) {
    return (std::max(options.prompt_tokens + options.steps, length) + options.page - 1) / options.page;
}

void place_fake_pages(const FakeRunOptions& options, std::int32_t length, Placement& placement) {
    const std::int32_t used = (length + options.page - 1) / options.page;
    const std::int32_t total = fake_page(options, fake_pages(options, length)) + 4;
    placement.page_tokens = options.page;
    placement.slots = std::int64_t{total} * options.page;
    const std::int32_t within = length % options.page;
    placement.next_slot = within == 0 ? fake_page(options, used) * options.page
                                      : fake_page(options, used - 1) * options.page + within;
    for (std::int32_t page = 0; page < total; ++page) {
        PageRun run{page, 1, false, false, false, {}};
        const std::int32_t own = page < options.shared_pages ? page : (page + options.shared_pages) / 2;
        if (fake_page(options, own) == page && own < used) {
            run = {page, 1, (own + 1) * options.page <= length, true, own == used - 1 && own > 2, {0}};
            if (own < options.shared_pages) run.owners.push_back(1);
        } else if (page > options.shared_pages && page < options.shared_pages + 5 && fake_page(options, own) != page) {
            run = {page, 1, true, true, false, {1}};
        } else if (page >= total - 3) {
            run.used = true;
            run.findable = page == total - 2;
        }
        placement.pages.push_back(run);
    }
    for (std::int32_t i = 0; i < used; ++i)
        placement.rows.push_back({i * options.page, fake_page(options, i) * options.page,
                                  std::min(options.page, length - i * options.page)});
}

Placement fake_placement(const FakeRunOptions& options, std::int32_t length) {
    Placement placement;
    if (!options.placed || length == 0) return placement;
    placement.known = placement.whole = true;
    if (options.cache == "paged") {
        place_fake_pages(options, length, placement);
    } else if (options.window > 0) {
        placement.slots = options.window;
        placement.next_slot = length % options.window;
        for (std::int32_t at = std::max(0, length - options.window); at < length;) {
            const std::int32_t slot = at % options.window, count = std::min(options.window - slot, length - at);
            placement.rows.push_back({at, slot, count});
            at += count;
        }
    } else {
        placement.slots = options.cache == "growing" ? length : std::max(options.prompt_tokens + options.steps, length);
        placement.next_slot = length;
        placement.rows.push_back({0, 0, length});
    }
    return placement;
}

void fake_page_facts(const FakeRunOptions& options, std::int32_t length, std::int64_t row, KvFacts& kv) {
    const Placement placement = fake_placement(options, length);
    kv.page_tokens = options.page;
    kv.pages_used = (length + options.page - 1) / options.page;
    kv.pages_shared = std::min<std::int64_t>(options.shared_pages, kv.pages_used);
    for (const PageRun& run : placement.pages) kv.pages_free += run.owners.empty() ? run.count : 0;
    kv.capacity_tokens = kv.pages_used * options.page;
    kv.pool_bytes = placement.slots * row;
}

KvFacts fake_kv(const FakeRunOptions& options, std::int32_t before, std::int32_t length) {
    const std::int64_t row = kv_row_bytes(options);
    KvFacts kv;
    kv.tokens_seen = length;
    kv.tokens_stored = options.window > 0 ? std::min(length, options.window) : length;
    kv.rows_written = length - before;
    kv.rows_read = kv.tokens_stored;
    kv.used_bytes = kv.tokens_stored * row;
    if (options.cache == "growing") {
        kv.capacity_tokens = length;
        kv.copied_bytes = before * row;
        kv.peak_bytes = length * row + before * row / options.layers;  // the last layer while it is copied
    } else {
        kv.capacity_tokens =
            options.window > 0 ? options.window : std::max(options.prompt_tokens + options.steps, length);
        kv.peak_bytes = kv.capacity_tokens * row;
    }
    if (options.cache == "paged") fake_page_facts(options, length, row, kv);
    kv.reserved_bytes = kv.capacity_tokens * row;
    return kv;
}

double cached_micros(std::int32_t length) {
    return 620.0 + 0.85 * length + 40.0 * noise(static_cast<std::uint64_t>(length), 1);
}
double recompute_micros(std::int32_t length) {
    return 300.0 + 95.0 * length + 0.03 * length * length + 60.0 * noise(static_cast<std::uint64_t>(length), 2);
}

std::vector<TokenProbability> fake_top(std::int32_t likely, std::int32_t step) {
    std::vector<TokenProbability> top = {
        {likely, static_cast<float>(0.45 + 0.4 * noise(static_cast<std::uint64_t>(step), 3))}};
    float left = 1.0f - top[0].probability;
    for (int i = 1; i < 10; ++i) {
        left *= 0.55f;
        top.push_back({(likely + i * 2) % kTokens, left * 0.8f});
    }
    return top;
}

void append_step_facts(RunRecording& recording, const FakeRunOptions& options, std::int32_t before,
                       std::int32_t length) {
    const RunFacts& facts = recording.facts();
    StepFacts step;
    step.index = recording.step_count();
    step.phase = step.index == 0 ? Phase::Prefill : Phase::Decode;
    step.row_count = length - before;
    step.first_row = recording.row_count() - step.row_count;
    step.sampled_token = fake_token(options, length);
    if (options.finished && step.index == options.steps) step.stop_reason = "length";
    step.micros = step.index == 0 ? recompute_micros(length) : cached_micros(length);
    if (options.device) step.host_micros = step.micros + 26, step.graph_captures = step.index == 2 ? 1 : 0;
    step.captured = options.capture;
    step.warm_up = step.index == 0;
    step.kv = fake_kv(options, before, length);
    step.memory.bytes = {facts.weight_bytes, step.kv.reserved_bytes, std::int64_t{262144} + 4 * length, 0};
    step.memory.history_bytes = recording.history_bytes();
    step.flops = std::int64_t{2000000} * step.row_count +
                 std::int64_t{4} * options.layers * options.heads * options.head_dim * length;
    step.bytes = facts.weight_bytes + step.kv.used_bytes + step.row_count * kv_row_bytes(options);
    if (options.profile)
        for (std::size_t s = 0; s < facts.stages.size(); ++s)
            step.ops.push_back({static_cast<std::int32_t>(s),
                                static_cast<float>(step.micros / static_cast<double>(facts.stages.size()))});
    step.top = fake_top(step.sampled_token, step.index);
    step.candidates = {{step.sampled_token, 1.0f}};
    if (options.window > 0)
        for (std::int32_t p = std::max(0, before - options.window); p < length - options.window; ++p)
            step.evicted.push_back({p});
    step.placement = placement_change(fake_placement(options, before), fake_placement(options, length));
    recording.append_step(std::move(step));
    if (options.race)
        recording.append_race_point(
            {recording.step_count() - 1, length, cached_micros(length), recompute_micros(length),
             1e-6 + 9e-6 * noise(static_cast<std::uint64_t>(length), 4), true, options.capture});
}

}  // namespace

std::int32_t fake_token(const FakeRunOptions& options, std::int32_t position) {
    if (position == 0) return 0;
    const std::int32_t place = (position - 1) % 32;
    if (place < 28) return chinese(options) ? kChineseStory[place] : kEnglishStory[place];
    return kTokens - 3 + std::min(place - 28, 2) -
           (place == 31 ? 2 : 0);  // line feed, two halves of a character, line feed
}

RunFacts fake_run_facts(const FakeRunOptions& options) {
    RunFacts facts;
    facts.program_version = "0.1.0";
    facts.commit = "0123456789ab";
    facts.date = "2026-11-30T08:15:00Z";
    facts.model_source = facts.model_name = "invented";
    facts.model_identity = "00112233445566778899aabbccddeeff";
    facts.config.name = facts.model_name;
    facts.config.layers = options.layers;
    facts.config.hidden = std::int64_t{options.heads} * options.head_dim;
    facts.config.heads = options.heads;
    facts.config.kv_heads = options.kv_heads;
    facts.config.head_dim = options.head_dim;
    facts.config.feed_forward = 4 * facts.config.hidden;
    facts.config.vocabulary = kTokens;
    facts.config.context = 2048;
    facts.backend = "cpu";
    facts.device = "invented processor, 2 cores";
    facts.cpu = "invented processor";
    facts.instruction_set = "AVX2";
    facts.threads = 2;
    facts.weights_type = "f16";
    facts.cache_spec = options.cache;
    if (options.window > 0) facts.cache_spec += ":window=" + std::to_string(options.window);
    if (options.cache == "paged") facts.cache_spec += ":page=" + std::to_string(options.page);
    facts.kv_type = "f32";
    facts.prompt_tokens = options.prompt_tokens;
    facts.weight_bytes = 4404019;
    facts.bandwidth_gb_s = 12.5;
    const auto stage = [&facts](const char* name, int layer) {
        facts.stages.emplace_back(name);
        facts.stage_layers.push_back(layer);
    };
    stage("embed", kNone);
    constexpr const char* kRoles[] = {"previous", "first", "induction", "none"};
    for (int layer = 0; layer < options.layers; ++layer) {
        for (const char* name : {"attention norm", "Q + K + V", "rotate + cache store", "attend", "output",
                                 "feed-forward norm", "gate + up", "activation", "down"})
            stage(name, layer);
        for (int head = 0; head < options.heads; ++head)
            facts.head_roles.push_back({layer, head, kRoles[head % 4], head % 4 == 0 ? 0.88 : 0.1,
                                        head % 4 == 2 ? 0.88 : 0.05, head % 4 == 1 ? 0.88 : 0.1});
    }
    stage("final norm", kNone);
    stage("logits", kNone);
    return facts;
}

std::shared_ptr<RunRecording> make_fake_run(const FakeRunOptions& options) {
    RecordingLimits limits;
    limits.attention_bytes = options.attention_bytes;
    auto recording = std::make_shared<RunRecording>(fake_run_facts(options), limits);
    for (std::int32_t id = 0; id < kTokens; ++id) recording->name_token(id, token_of(options, id).display);
    for (std::int32_t position = 0; position < options.prompt_tokens; ++position)
        append_fake_row(*recording, options, position, 0);
    append_step_facts(*recording, options, 0, options.prompt_tokens);
    for (int step = 0; step < options.steps; ++step) append_fake_step(*recording, options);
    return recording;
}

void append_fake_step(RunRecording& recording, const FakeRunOptions& options) {
    const std::int32_t position = recording.row_count();
    append_fake_row(recording, options, position, recording.step_count());
    append_step_facts(recording, options, position, position + 1);
}

}  // namespace decodescope
