#include "engine/trace/recording_codec.h"

#include <algorithm>
#include <limits>

#include "engine/trace/placement_codec.h"

namespace decodescope {

namespace {

// Beside the number of the family: options of the model follow. Files from before there were any read as they did.
constexpr std::uint8_t kHasOptions = 0x80;
constexpr std::uint8_t kHasKeptBytes = 0x40;  // and, last, what weights take that stay as in the file

bool has_options(const ModelConfig& config) {
    return config.window > 0 || config.rotary_dim > 0 || config.parallel_blocks || !config.stored_as.empty() ||
           config.widened_bytes > 0;
}

void encode_options(ByteWriter& out, const ModelConfig& config) {
    out.i64(config.rotary_dim);
    out.i64(config.window);
    out.count(config.local_layers.size());
    for (const bool local : config.local_layers) out.boolean(local);
    out.boolean(config.parallel_blocks);
    out.text(config.stored_as);
    out.i64(config.widened_bytes);
}

void decode_options(ByteReader& in, ModelConfig& config) {
    config.rotary_dim = in.i64("rotated dimensions", 0, config.head_dim);
    config.window = in.i64("window", 0, kMaxWidth);
    config.local_layers.resize(in.count("local layers", 1));
    if (!config.local_layers.empty() && static_cast<std::int64_t>(config.local_layers.size()) != config.layers) {
        in.fail("local layers", "is not the number of layers");
        config.local_layers.clear();
    }
    for (std::size_t layer = 0; layer < config.local_layers.size(); ++layer)
        config.local_layers[layer] = in.boolean("local layer");
    config.parallel_blocks = in.boolean("parallel blocks");
    config.stored_as = in.text("type in the file");
    config.widened_bytes = in.i64("widened bytes", 0);
}

void encode_config(ByteWriter& out, const ModelConfig& config) {
    out.u8(static_cast<std::uint8_t>(static_cast<std::uint8_t>(config.family) |
                                     (has_options(config) ? kHasOptions : 0) |
                                     (config.kept_bytes > 0 ? kHasKeptBytes : 0)));
    out.text(config.name);
    for (std::int64_t value : {config.layers, config.hidden, config.heads, config.kv_heads, config.head_dim,
                               config.feed_forward, config.vocabulary, config.context})
        out.i64(value);
    out.f32(config.norm_epsilon);
    out.f32(config.rope_theta);
    out.boolean(config.tied_head);
    out.u8(static_cast<std::uint8_t>(config.file_type));
    if (has_options(config)) encode_options(out, config);
    if (config.kept_bytes > 0) out.i64(config.kept_bytes);
}

ModelConfig decode_config(ByteReader& in) {
    ModelConfig config;
    const std::uint8_t family = in.u8("family");
    constexpr auto kNumber = static_cast<std::uint8_t>(~(kHasOptions | kHasKeptBytes));
    if ((family & kNumber) > static_cast<std::uint8_t>(kLastFamily))
        in.fail("family", "is not a value that this version knows");
    if (in.ok()) config.family = static_cast<Family>(family & kNumber);
    config.name = in.text("model name");
    config.layers = in.i64("layers", 1, kMaxLayers);
    config.hidden = in.i64("hidden size", 0, kMaxWidth);
    config.heads = in.i64("heads", 1, kMaxHeads);
    config.kv_heads = in.i64("KV heads", 1, config.heads);
    if (config.heads % config.kv_heads != 0) in.fail("KV heads", "do not divide the heads");
    config.head_dim = in.i64("head size", 0, kMaxWidth);
    config.feed_forward = in.i64("feed-forward size", 0, kMaxWidth);
    config.vocabulary = in.i64("vocabulary", 0, 1 << 30);
    config.context = in.i64("context", 0, kMaxWidth);
    config.norm_epsilon = in.f32("norm epsilon");
    config.rope_theta = in.f32("rope theta");
    config.tied_head = in.boolean("tied head");
    config.file_type = decode_enum(in, "element type of the file", ElementType::I8);
    if ((family & kHasOptions) != 0) decode_options(in, config);
    if ((family & kHasKeptBytes) != 0) config.kept_bytes = in.i64("kept weight bytes", 1);
    return config;
}

void encode_probabilities(ByteWriter& out, const std::vector<TokenProbability>& list) {
    out.count(list.size());
    for (const TokenProbability& entry : list) {
        out.i32(entry.token);
        out.f32(entry.probability);
    }
}

std::vector<TokenProbability> decode_probabilities(ByteReader& in, const RunFacts& facts, const char* field) {
    std::vector<TokenProbability> list(in.count(field, 8));
    for (TokenProbability& entry : list) {
        entry.token = in.i32(field, 0, highest_token(facts));
        entry.probability = in.f32(field);
    }
    return list;
}

void encode_kv(ByteWriter& out, const KvFacts& kv) {
    for (std::int64_t value : {kv.rows_written, kv.rows_read, kv.tokens_seen, kv.tokens_stored, kv.capacity_tokens,
                               kv.used_bytes, kv.reserved_bytes, kv.copied_bytes, kv.peak_bytes})
        out.i64(value);
}

KvFacts decode_kv(ByteReader& in) {
    KvFacts kv;
    kv.rows_written = in.i64("rows written", 0);
    kv.rows_read = in.i64("rows read", 0);
    kv.tokens_seen = in.i64("tokens seen", 0);
    kv.tokens_stored = in.i64("tokens stored", 0);
    kv.capacity_tokens = in.i64("capacity", 0);
    kv.used_bytes = in.i64("KV bytes used", 0);
    kv.reserved_bytes = in.i64("KV bytes reserved", 0);
    kv.copied_bytes = in.i64("KV bytes copied", 0);
    kv.peak_bytes = in.i64("KV bytes at the peak", 0);
    return kv;
}

void encode_pages(ByteWriter& out, const KvFacts& kv) {
    for (std::int64_t value :
         {kv.page_tokens, kv.pages_used, kv.pages_shared, kv.pages_copied, kv.pages_free, kv.pool_bytes})
        out.i64(value);
}

void decode_pages(ByteReader& in, KvFacts& kv) {
    kv.page_tokens = in.i64("tokens of a page", 1);
    kv.pages_used = in.i64("pages used", 0);
    kv.pages_shared = in.i64("pages shared", 0);
    kv.pages_copied = in.i64("pages copied", 0);
    kv.pages_free = in.i64("pages free", 0);
    kv.pool_bytes = in.i64("bytes of the page pool", 0);
}

void encode_offload(ByteWriter& out, const KvFacts& kv) {
    out.u8(static_cast<std::uint8_t>(kv.offload));
    for (std::int64_t value : {kv.offload_pool_bytes, kv.offload_fetched_bytes, kv.offload_returned_bytes})
        out.i64(value);
    out.f64(kv.offload_micros);
    out.f64(kv.offload_rate);
}

void decode_offload(ByteReader& in, KvFacts& kv) {
    kv.offload = decode_enum(in, "place of the cache", OffloadPlace::File);
    kv.offload_pool_bytes = in.i64("bytes of the offload pool", 0);
    kv.offload_fetched_bytes = in.i64("bytes fetched", 0);
    kv.offload_returned_bytes = in.i64("bytes returned", 0);
    kv.offload_micros = in.f64("micros of the copies");
    kv.offload_rate = in.f64("rate of the copies");
}

void encode_sampler(ByteWriter& out, const SamplerConfig& sampler) {
    out.f64(sampler.temperature);
    out.i32(sampler.top_k);
    out.f64(sampler.top_p);
    out.u64(sampler.seed);
}

SamplerConfig decode_sampler(ByteReader& in) {
    SamplerConfig sampler;
    sampler.temperature = in.f64("temperature");
    sampler.top_k = in.i32("top-k", 0, std::numeric_limits<std::int32_t>::max());
    sampler.top_p = in.f64("top-p");
    sampler.seed = in.u64("seed");
    return sampler;
}

void decode_stages(ByteReader& in, RunFacts& facts) {
    const std::size_t stages = in.count("stages", 8);
    for (std::size_t i = 0; i < stages && in.ok(); ++i) {
        facts.stages.push_back(in.text("stage name"));
        facts.stage_layers.push_back(in.i32("stage layer", kNone, static_cast<std::int32_t>(kMaxLayers)));
    }
}

void decode_head_roles(ByteReader& in, RunFacts& facts) {
    const std::size_t roles = in.count("head roles", 36);
    for (std::size_t i = 0; i < roles && in.ok(); ++i) {
        HeadRole role;
        role.layer = in.i32("layer of a head role", 0, static_cast<std::int32_t>(facts.config.layers) - 1);
        role.head = in.i32("head of a head role", 0, static_cast<std::int32_t>(facts.config.heads) - 1);
        role.role = in.text("head role");
        role.previous = in.f64("previous");
        role.induction = in.f64("induction");
        role.first = in.f64("first");
        facts.head_roles.push_back(std::move(role));
    }
}

}  // namespace

void encode_facts(ByteWriter& out, const RunFacts& facts) {
    for (const std::string* text : {&facts.program_version, &facts.commit, &facts.date, &facts.model_source,
                                    &facts.model_name, &facts.model_identity, &facts.backend, &facts.device, &facts.cpu,
                                    &facts.instruction_set, &facts.weights_type, &facts.cache_spec, &facts.kv_type})
        out.text(*text);
    encode_config(out, facts.config);
    out.boolean(facts.meaningless_text);
    out.i32(facts.threads);
    encode_sampler(out, facts.sampler);
    out.i64(facts.prompt_tokens);
    out.i64(facts.weight_bytes);
    out.f64(facts.bandwidth_gb_s);
    out.count(facts.stages.size());
    for (std::size_t i = 0; i < facts.stages.size(); ++i) {
        out.text(facts.stages[i]);
        out.i32(i < facts.stage_layers.size() ? facts.stage_layers[i] : kNone);
    }
    out.count(facts.head_roles.size());
    for (const HeadRole& role : facts.head_roles) {
        out.i32(role.layer);
        out.i32(role.head);
        out.text(role.role);
        out.f64(role.previous);
        out.f64(role.induction);
        out.f64(role.first);
    }
}

RunFacts decode_facts(ByteReader& in) {
    RunFacts facts;
    facts.program_version = in.text("program version");
    facts.commit = in.text("commit");
    facts.date = in.text("date");
    facts.model_source = in.text("model source");
    facts.model_name = in.text("model name");
    facts.model_identity = in.text("model identity");
    facts.backend = in.text("backend");
    facts.device = in.text("device");
    facts.cpu = in.text("processor");
    facts.instruction_set = in.text("instruction set");
    facts.weights_type = in.text("weights type");
    facts.cache_spec = in.text("cache");
    facts.kv_type = in.text("KV type");
    facts.config = decode_config(in);
    facts.meaningless_text = in.boolean("meaningless text");
    facts.threads = in.i32("threads", 0, 1 << 20);
    facts.sampler = decode_sampler(in);
    facts.prompt_tokens = in.i64("prompt tokens", 0);
    facts.weight_bytes = in.i64("weight bytes", 0);
    facts.bandwidth_gb_s = in.f64("bandwidth");
    decode_stages(in, facts);
    decode_head_roles(in, facts);
    return facts;
}

constexpr std::uint8_t kStepCaptured = 1, kStepPaged = 2, kStepApart = 4, kStepOffloaded = 8, kStepPlaced = 16,
                       kStepPasses = 32, kStepDevice = 64;
constexpr std::uint8_t kKnownStepFlags = kStepCaptured | kStepPaged | kStepApart | kStepOffloaded | kStepPlaced |
                                         kStepPasses | kStepDevice;

// Layers that drop tokens apart, and scores that decide.
bool evicts_apart(const StepFacts& step) {
    return std::any_of(step.evicted.begin(), step.evicted.end(),
                       [](const EvictedEntry& entry) { return entry.layer != kNone || entry.scored(); });
}

void encode_step(ByteWriter& out, const StepFacts& step) {
    out.i32(step.index);
    out.u8(static_cast<std::uint8_t>(step.phase));
    out.i32(step.first_row);
    out.i32(step.row_count);
    out.i32(step.sampled_token);
    out.text(step.stop_reason);
    out.f64(step.micros);
    const bool paged = step.kv.page_tokens > 0;
    const bool apart = evicts_apart(step), offloaded = step.kv.offload != OffloadPlace::None;
    out.u8(static_cast<std::uint8_t>((step.captured ? kStepCaptured : 0) | (paged ? kStepPaged : 0) |
                                     (apart ? kStepApart : 0) | (offloaded ? kStepOffloaded : 0) |
                                     (step.placement.known ? kStepPlaced : 0) | (step.passes > 1 ? kStepPasses : 0) |
                                     (step.host_micros > 0 ? kStepDevice : 0)));
    out.boolean(step.warm_up);
    encode_kv(out, step.kv);
    if (paged) encode_pages(out, step.kv);
    if (offloaded) encode_offload(out, step.kv);
    for (std::int64_t bytes : step.memory.bytes) out.i64(bytes);
    out.i64(step.memory.history_bytes);
    out.i64(step.flops);
    out.i64(step.bytes);
    out.count(step.ops.size());
    for (const OpRecord& op : step.ops) {
        out.i32(op.stage);
        out.f32(op.micros);
    }
    encode_probabilities(out, step.top);
    encode_probabilities(out, step.candidates);
    out.count(step.evicted.size());
    for (const EvictedEntry& entry : step.evicted) {
        out.i32(entry.position);
        if (!apart) continue;
        out.i32(entry.layer);
        out.f32(entry.score);
    }
    if (step.placement.known) encode_placement(out, step.placement);
    if (step.passes > 1) {
        out.i32(step.passes);
        out.i32(step.last_pass_rows);
    }
    if (step.host_micros > 0) {
        out.f64(step.host_micros);
        out.i64(step.graph_captures);
    }
}

StepFacts decode_step(ByteReader& in, const RunFacts& facts, std::int64_t rows, std::int64_t steps) {
    StepFacts step;
    step.index = in.i32("index", 0, static_cast<std::int32_t>(steps) - 1);
    step.phase = decode_enum(in, "phase", Phase::Refeed);
    step.first_row = in.i32("first row", 0, static_cast<std::int32_t>(rows));
    step.row_count = in.i32("row count", 0, static_cast<std::int32_t>(rows) - step.first_row);
    step.sampled_token = in.i32("sampled token", -1, highest_token(facts));
    step.stop_reason = in.text("stop reason");
    step.micros = in.f64("micros");
    const std::uint8_t flags = in.u8("captured");
    if ((flags & ~kKnownStepFlags) != 0) in.fail("captured", "is not a value that this version knows");
    step.captured = (flags & kStepCaptured) != 0;
    step.warm_up = in.boolean("warm-up");
    step.kv = decode_kv(in);
    if ((flags & kStepPaged) != 0) decode_pages(in, step.kv);
    if ((flags & kStepOffloaded) != 0) decode_offload(in, step.kv);
    for (std::int64_t& bytes : step.memory.bytes) bytes = in.i64("memory bytes", 0);
    step.memory.history_bytes = in.i64("history bytes", 0);
    step.flops = in.i64("FLOPs", 0);
    step.bytes = in.i64("bytes", 0);
    step.ops.resize(in.count("operations", 8));
    for (OpRecord& op : step.ops) {
        op.stage = in.i32("stage of an operation", 0, static_cast<std::int32_t>(facts.stages.size()) - 1);
        op.micros = in.f32("micros of an operation");
    }
    step.top = decode_probabilities(in, facts, "likely tokens");
    step.candidates = decode_probabilities(in, facts, "candidate tokens");
    const bool apart = (flags & kStepApart) != 0;
    step.evicted.resize(in.count("evicted positions", apart ? 12 : 4));
    for (EvictedEntry& entry : step.evicted) {
        entry.position = in.i32("evicted position", 0, kMaxPosition);
        if (!apart) continue;
        entry.layer = in.i32("layer of an evicted position", kNone, static_cast<std::int32_t>(facts.config.layers) - 1);
        entry.score = in.f32("score of an evicted position");
    }
    if ((flags & kStepPlaced) != 0) step.placement = decode_placement(in);
    if ((flags & kStepPasses) != 0) {
        step.passes = in.i32("passes", 2, std::max(step.row_count, 2));
        step.last_pass_rows = in.i32("rows of the last pass", 1, std::max(step.row_count, 1));
    }
    if ((flags & kStepDevice) != 0) {
        step.host_micros = in.f64("micros of the host");
        step.graph_captures = in.i64("recorded graphs", 0);
    }
    return step;
}

void encode_race_point(ByteWriter& out, const RacePoint& point) {
    out.i32(point.step);
    out.i32(point.length);
    out.f64(point.cached_micros);
    out.f64(point.recompute_micros);
    out.f64(point.max_abs_logit_diff);
    out.boolean(point.same_token);
    out.boolean(point.captured);
}

RacePoint decode_race_point(ByteReader& in, std::int64_t steps) {
    RacePoint point;
    point.step = in.i32("step", 0, static_cast<std::int32_t>(std::max<std::int64_t>(steps, 1) - 1));
    point.length = in.i32("length", 0, kMaxPosition + 1);
    point.cached_micros = in.f64("cached micros");
    point.recompute_micros = in.f64("recompute micros");
    point.max_abs_logit_diff = in.f64("logit difference");
    point.same_token = in.boolean("same token");
    point.captured = in.boolean("captured");
    return point;
}

}  // namespace decodescope
