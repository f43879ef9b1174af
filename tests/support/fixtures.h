// Files of tests/fixtures, and a full pass of a model on a backend without any cache strategy.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "engine/model/model.h"
#include "kernels/api/backend.h"

namespace decodescope {

// tests/fixtures/NAME in the source tree.
std::string fixture_path(const std::string& name);
// The bytes of a file; the test stops when it cannot be read.
std::string read_fixture(const std::string& name);

// Opens tests/fixtures/NAME as a model: "g2", "g2-tied", "l3". The test stops with the error when it cannot be opened.
ModelPtr open_fixture(const std::string& name);

// What transformers (float32) computes for a checkpoint.
struct ReferenceValues {
    std::vector<std::int32_t> tokens;       // [T]
    std::int64_t vocabulary = 0, layers = 0, heads = 0;
    std::vector<float> logits;              // [T, vocabulary]
    std::vector<float> attention;           // [layers, heads, T, T], 0 above the diagonal
    std::vector<float> attention_float64;   // the same computed in float64; empty where not stored
    std::int64_t length() const { return static_cast<std::int64_t>(tokens.size()); }
};
// From tests/fixtures/FILE, e.g. "l3/reference.safetensors".
ReferenceValues load_reference(const std::string& file, const std::string& logits_tensor = "logits");

struct FullPass {
    std::int64_t vocabulary = 0, layers = 0, heads = 0;
    std::vector<float> logits;     // [T, vocabulary], of all rows
    std::vector<float> attention;  // [layers, heads, T, T]
};
// All tokens in one step from position 0, K and V in f32, attention captured. The test stops on an error.
FullPass run_full_pass(Backend& backend, const Model& model, std::span<const std::int32_t> tokens,
                       WeightType weights = WeightType::F32);

// Largest |a - b| divided by the largest |b|; infinity when the sizes differ or a value is not finite.
double relative_difference(std::span<const float> a, std::span<const float> b);
// Largest |a - b|; infinity as above.
double largest_difference(std::span<const float> a, std::span<const float> b);

// "Загрузки 模型 é": Cyrillic, Chinese, an accent and spaces (LD-09).
inline constexpr const char* kNonAsciiName = "Загрузки 模型 é";

// A folder that is removed with the object; kNonAsciiName is in its name.
class TemporaryFolder {
public:
    TemporaryFolder();
    ~TemporaryFolder();
    TemporaryFolder(const TemporaryFolder&) = delete;
    TemporaryFolder& operator=(const TemporaryFolder&) = delete;
    const std::string& path() const { return path_; }
    std::string file(const std::string& name) const { return path_ + "/" + name; }
    void write(const std::string& name, std::string_view bytes) const;
    // Copies a file of a fixture under the same name.
    void copy_fixture(const std::string& fixture, const std::string& name) const;

private:
    std::string path_;
};

// A safetensors file from its parts; headers for bad files can be written by hand.
struct FileTensor {
    std::string name, dtype;
    std::vector<std::int64_t> shape;
    std::string bytes;
};
std::string safetensors_bytes(const std::vector<FileTensor>& tensors);
std::string safetensors_bytes(std::string_view header, std::string_view data);
// The tensors of a fixture's model.safetensors.
std::vector<FileTensor> fixture_tensors(const std::string& fixture);

}  // namespace decodescope
