// The limits of loading (LD-01, LD-17): run by hand, on a quiet machine. Each prints its figure; nothing is asserted.
#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "engine/model/safetensors.h"
#include "engine/model/tensor_set.h"
#include "engine/text/load_tokenizer.h"
#include "tests/support/fixtures.h"

namespace decodescope {
namespace {

std::string header_of(int tensors, std::int64_t columns) {
    std::string json = "{";
    const std::int64_t bytes = 125 * columns * 4;
    for (int i = 0; i < tensors; ++i)
        json += fmt::format("{}\"layers.{}.weight\":{{\"dtype\":\"F32\",\"shape\":[125,{}],\"data_offsets\":[{},{}]}}",
                            i ? "," : "", i, columns, i * bytes, (i + 1) * bytes);
    json += "}";
    json.append((8 - json.size() % 8) % 8, ' ');
    return json;
}

// LD-17: the header of 1000 tensors in memory; the limit is 50 ms beyond reading the file.
void validate_thousand_tensors(benchmark::State& state) {
    const std::string text = safetensors_bytes(header_of(1000, 8), std::string(1000 * 125 * 8 * 4, '\0'));
    const std::span bytes(reinterpret_cast<const std::byte*>(text.data()), text.size());
    for (auto _ : state) {
        auto header = read_safetensors(bytes, "memory");
        DS_CHECK(header.ok());
        benchmark::DoNotOptimize(header);
    }
}
BENCHMARK(validate_thousand_tensors)->Unit(benchmark::kMillisecond);

// LD-17: the same as a file of 500 MB. It is sparse, so hardly anything is read; what is left is opening, validating
// and the samples of the fingerprint. The limit is 50 ms.
void open_500_megabytes(benchmark::State& state) {
    const TemporaryFolder folder;
    const std::string header = safetensors_bytes(header_of(1000, 1000), "");
    folder.write("model.safetensors", header);
    std::filesystem::resize_file(folder.file("model.safetensors"), header.size() + 500'000'000);
    for (auto _ : state) {
        auto set = open_weights(folder.path());
        DS_CHECK(set.ok());
        DS_CHECK(set->tensors.size() == 1000);
    }
}
BENCHMARK(open_500_megabytes)->Unit(benchmark::kMillisecond);

// LD-01: a hostile header length; the limit is 100 ms.
void refuse_hostile_header(benchmark::State& state) {
    std::vector<std::byte> file(4096, std::byte{0xFF});
    for (auto _ : state) benchmark::DoNotOptimize(read_safetensors(file, "memory"));
}
BENCHMARK(refuse_hostile_header)->Unit(benchmark::kMillisecond);

// LD-17: a vocabulary of 128k tokens with as many merges; the limit is 1 s.
void load_128k_vocabulary(benchmark::State& state) {
    constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    constexpr std::size_t kTokens = 128'000;
    std::vector<std::string> tokens;
    std::string merges;
    for (const char letter : kLetters) tokens.emplace_back(1, letter);
    for (std::size_t i = 0; tokens.size() < kTokens; ++i) {  // every token with every letter behind it
        const std::string& left = tokens[i / kLetters.size()];
        const char right = kLetters[i % kLetters.size()];
        merges += fmt::format("{}\"{} {}\"", merges.empty() ? "" : ",", left, right);
        tokens.push_back(left + right);
    }
    std::string vocabulary;
    for (std::size_t i = 0; i < tokens.size(); ++i)
        vocabulary += fmt::format("{}\"{}\":{}", i > 0 ? "," : "", tokens[i], i);
    const TemporaryFolder folder;
    folder.write("tokenizer.json",
                 R"({"added_tokens":[],"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},)"
                 R"("decoder":{"type":"ByteLevel"},"model":{"type":"BPE","vocab":{)" +
                     vocabulary + R"(},"merges":[)" + merges + "]}}");
    for (auto _ : state) {
        auto tokenizer = load_tokenizer(folder.path(), {});
        if (!tokenizer) state.SkipWithError(tokenizer.error().text().c_str());
    }
}
BENCHMARK(load_128k_vocabulary)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace decodescope

BENCHMARK_MAIN();
