#include "tests/support/fixtures.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <random>
#include <sstream>

#include <nlohmann/json.hpp>

#include "engine/model/safetensors.h"
#include "engine/model/tensor_set.h"

namespace decodescope {
namespace {

namespace fs = std::filesystem;

[[noreturn]] void stop(const std::string& message) {
    std::fprintf(stderr, "fixture: %s\n", message.c_str());
    std::abort();
}

template <class T>
T value_or_stop(Result<T> result) {
    if (!result) stop(result.error().text());
    return std::move(*result);
}

void stop_on_error(const Status& status) {
    if (!status.ok()) stop(status.error().text());
}

std::span<const std::byte> bytes_of(const std::string& text) {
    return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}

// K and V of all layers in f32, contiguous, with room for `length` rows.
class PlainCache {
public:
    PlainCache(Backend& backend, const ModelConfig& config, std::int32_t length) {
        const std::int64_t side = config.kv_heads * length * config.head_dim;
        for (std::int64_t layer = 0; layer < config.layers; ++layer) {
            KvView view;
            view.kv_heads = static_cast<int>(config.kv_heads);
            view.head_dim = static_cast<int>(config.head_dim);
            for (KvSide* kv : {&view.k, &view.v}) {
                buffers_.push_back(
                    value_or_stop(backend.allocate(static_cast<std::size_t>(side) * 4, MemoryPurpose::KvCache)));
                kv->data = buffers_.back()->data();
                kv->page_stride = side;
                kv->head_stride = length * config.head_dim;
                kv->row_stride = config.head_dim;
            }
            view.table.count = length;
            views_.push_back(view);
        }
    }
    std::span<const KvView> views() const { return views_; }

private:
    std::vector<BufferPtr> buffers_;
    std::vector<KvView> views_;
};

template <class T>
std::vector<T> elements(const Tensor& tensor) {
    std::vector<T> out(static_cast<std::size_t>(tensor.bytes) / sizeof(T));
    std::memcpy(out.data(), tensor.data, static_cast<std::size_t>(tensor.bytes));
    return out;
}

}  // namespace

std::string fixture_path(const std::string& name) {
    return std::string(DECODESCOPE_SOURCE_DIR "/tests/fixtures/") + name;
}

std::string read_fixture(const std::string& name) {
    std::ifstream in(fixture_path(name), std::ios::binary);
    if (!in) stop("cannot read " + fixture_path(name));
    std::ostringstream out;
    out << in.rdbuf();
    return out.str();
}

ModelPtr open_fixture(const std::string& name) { return value_or_stop(open_model(fixture_path(name), {}, {}, {})); }

ReferenceValues load_reference(const std::string& file, const std::string& logits_tensor) {
    const std::string bytes = read_fixture(file);
    const SafetensorsHeader header = value_or_stop(read_safetensors(bytes_of(bytes), file));
    ReferenceValues out;
    for (const SafetensorsEntry& entry : header.entries) {
        const Tensor tensor{entry.dtype, entry.shape, bytes.data() + header.data_offset + entry.begin,
                            entry.end - entry.begin};
        if (entry.name == "tokens") out.tokens = elements<std::int32_t>(tensor);
        if (entry.name == logits_tensor) {
            out.logits = elements<float>(tensor);
            out.vocabulary = entry.shape[1];
        }
        if (entry.name == "attention_float64") out.attention_float64 = elements<float>(tensor);
        if (entry.name == "attention") {
            out.attention = elements<float>(tensor);
            out.layers = entry.shape[0];
            out.heads = entry.shape[1];
        }
    }
    if (out.tokens.empty() || out.logits.empty()) stop(file + " lacks tokens or " + logits_tensor);
    return out;
}

FullPass run_full_pass(Backend& backend, const Model& model, std::span<const std::int32_t> tokens, WeightType weights) {
    const ModelConfig& c = model.config;
    const auto rows = static_cast<std::int32_t>(tokens.size());
    const StepProgram program = emit_program(model, resolve_weight_type(c, weights));
    const auto set = value_or_stop(backend.load_weights(model.weights, program, weights, {}, {}));
    CompileOptions options;
    options.max_rows = options.max_logits_rows = rows;
    const auto step = value_or_stop(backend.compile(program, set, options));
    const PlainCache cache(backend, c, rows);
    std::vector<std::int32_t> positions;
    std::vector<RowVisibility> visibility;
    for (std::int32_t row = 0; row < rows; ++row) {
        positions.push_back(row);
        visibility.push_back({row, 0, 0});
    }
    // Layers that attend to a window see no more than that.
    std::vector<RowVisibility> local = visibility;
    for (RowVisibility& row : local)
        row.window_first = static_cast<std::int32_t>(std::max<std::int64_t>(0, row.position + 1 - c.window));
    std::vector<const RowVisibility*> layer_visibility;
    for (std::int64_t layer = 0; layer < c.layers; ++layer)
        layer_visibility.push_back(c.is_local(layer) ? local.data() : visibility.data());
    const SequenceRows sequence{0, rows, cache.views(), layer_visibility};
    std::vector<float> captured(static_cast<std::size_t>(c.layers * rows * c.heads * rows));
    std::vector<float*> layers;
    for (std::int64_t layer = 0; layer < c.layers; ++layer)
        layers.push_back(captured.data() + layer * rows * c.heads * rows);
    FullPass out{c.vocabulary, c.layers, c.heads, std::vector<float>(static_cast<std::size_t>(rows * c.vocabulary)),
                 std::vector<float>(captured.size())};
    StepInputs inputs;
    inputs.tokens = tokens;
    inputs.positions = positions;
    inputs.visibility = visibility;
    inputs.sequences = {&sequence, 1};
    inputs.logits_rows = positions;
    inputs.attention_out = layers;
    inputs.attention_stride = rows;
    StepOutputs outputs;
    outputs.logits = out.logits;
    stop_on_error(backend.run(*step, inputs, outputs, {}));
    // [layers, rows, heads, rows] -> [layers, heads, rows, rows]
    for (std::int64_t layer = 0; layer < c.layers; ++layer)
        for (std::int64_t row = 0; row < rows; ++row)
            for (std::int64_t head = 0; head < c.heads; ++head)
                std::memcpy(&out.attention[static_cast<std::size_t>(((layer * c.heads + head) * rows + row) * rows)],
                            &captured[static_cast<std::size_t>(((layer * rows + row) * c.heads + head) * rows)],
                            static_cast<std::size_t>(rows) * sizeof(float));
    return out;
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
    if (a.size() != b.size()) return std::numeric_limits<double>::infinity();
    double largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        const double difference = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
        if (!(difference < std::numeric_limits<double>::infinity())) return std::numeric_limits<double>::infinity();
        largest = std::max(largest, difference);
    }
    return largest;
}

double relative_difference(std::span<const float> a, std::span<const float> b) {
    double scale = 0;
    for (const float value : b) scale = std::max(scale, std::abs(static_cast<double>(value)));
    return largest_difference(a, b) / scale;
}

TemporaryFolder::TemporaryFolder() {
    std::random_device random;
    do {
        path_ = (fs::temp_directory_path() /
                 ("decodescope " + std::string(kNonAsciiName) + " " + std::to_string(random())))
                    .string();
    } while (!fs::create_directories(path_));
}

TemporaryFolder::~TemporaryFolder() {
    std::error_code error;
    fs::remove_all(path_, error);
}

void TemporaryFolder::write(const std::string& name, std::string_view bytes) const {
    std::ofstream out(file(name), std::ios::binary);
    out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    if (!out) stop("cannot write " + file(name));
}

void TemporaryFolder::copy_fixture(const std::string& fixture, const std::string& name) const {
    write(name, read_fixture(fixture + "/" + name));
}

std::string safetensors_bytes(std::string_view header, std::string_view data) {
    std::string out;
    for (int i = 0; i < 8; ++i) out.push_back(static_cast<char>(header.size() >> (8 * i)));
    out.append(header);
    out.append(data);
    return out;
}

std::string safetensors_bytes(const std::vector<FileTensor>& tensors) {
    nlohmann::ordered_json header;
    std::string data;
    for (const FileTensor& tensor : tensors) {
        header[tensor.name] = {{"dtype", tensor.dtype},
                               {"shape", tensor.shape},
                               {"data_offsets", {data.size(), data.size() + tensor.bytes.size()}}};
        data += tensor.bytes;
    }
    std::string text = header.dump();
    text.append((8 - text.size() % 8) % 8, ' ');
    return safetensors_bytes(text, data);
}

std::vector<FileTensor> fixture_tensors(const std::string& fixture) {
    const std::string bytes = read_fixture(fixture + "/model.safetensors");
    const SafetensorsHeader header = value_or_stop(read_safetensors(bytes_of(bytes), fixture));
    std::vector<FileTensor> out;
    for (const SafetensorsEntry& entry : header.entries)
        out.push_back({entry.name, entry.dtype, entry.shape,
                       bytes.substr(static_cast<std::size_t>(header.data_offset + entry.begin),
                                    static_cast<std::size_t>(entry.end - entry.begin))});
    return out;
}

}  // namespace decodescope
