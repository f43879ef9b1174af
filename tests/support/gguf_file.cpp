#include "tests/support/gguf_file.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>

#include "engine/model/gguf_types.h"
#include "kernels/api/half.h"

namespace decodescope {
namespace {

std::int64_t padding(std::int64_t bytes, std::int64_t alignment) { return (alignment - bytes % alignment) % alignment; }

template <class T>
std::string array(std::string_view key, std::uint32_t type, const std::vector<T>& values) {
    return GgufBytes()
        .text(key)
        .u32(9)
        .u32(type)
        .u64(values.size())
        .raw(values.data(), values.size() * sizeof(T))
        .bytes();
}

void put_half(std::string& out, double value) {
    const std::uint16_t bits = f32_to_f16(static_cast<float>(value));
    out.append(reinterpret_cast<const char*>(&bits), 2);
}

double half_of(const std::uint8_t* at) {
    const int bits = at[0] | at[1] << 8;
    const int exponent = bits >> 10 & 31, mantissa = bits & 1023;
    const double size = exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    return bits & 0x8000 ? -size : size;
}

int nearest(double value, int lowest, int highest) {
    return static_cast<int>(
        std::clamp(std::nearbyint(value), static_cast<double>(lowest), static_cast<double>(highest)));
}

// Codes 0 .. 2^bits - 1 of the 32 numbers of an older block; `minimum`: x = d q + m, else x = d (q - 2^(bits-1)).
void put_small(std::string& out, const float* x, int bits, bool minimum) {
    const auto [low, high] = std::minmax_element(x, x + 32);
    double d = 0, m = 0;
    if (minimum) d = (*high - *low) / ((1 << bits) - 1), m = *low;
    else d = std::max(std::abs(*low), std::abs(*high)) / ((1 << (bits - 1)) - 1);
    put_half(out, d);
    if (minimum) put_half(out, m);
    std::uint32_t fifth = 0;
    std::uint8_t codes[16] = {};
    for (int i = 0; i < 32; ++i) {
        const double exact = d == 0 ? 0 : (x[i] - m) / d + (minimum ? 0 : 1 << (bits - 1));
        const int q = nearest(exact, 0, (1 << bits) - 1);
        codes[i % 16] = static_cast<std::uint8_t>(codes[i % 16] | (q & 15) << (i < 16 ? 0 : 4));
        fifth |= static_cast<std::uint32_t>(q >> 4) << i;
    }
    if (bits == 5) out.append(reinterpret_cast<const char*>(&fifth), 4);
    out.append(reinterpret_cast<const char*>(codes), 16);
}

void put_q8(std::string& out, const float* x) {
    double most = 0;
    for (int i = 0; i < 32; ++i) most = std::max(most, std::abs(static_cast<double>(x[i])));
    put_half(out, most / 127);
    for (int i = 0; i < 32; ++i)
        out.push_back(static_cast<char>(nearest(most == 0 ? 0 : x[i] / most * 127, -127, 127)));
}

// 256 numbers: scale and minimum of each 32 in 6 bits, codes of 4 or 5 bits.
void put_k(std::string& out, const float* x, int bits) {
    double scale[8], minimum[8], most_scale = 0, most_minimum = 0;
    for (int j = 0; j < 8; ++j) {
        const auto [low, high] = std::minmax_element(x + j * 32, x + j * 32 + 32);
        minimum[j] = std::max(0.0, -static_cast<double>(*low));
        scale[j] = (*high + minimum[j]) / ((1 << bits) - 1);
        most_scale = std::max(most_scale, scale[j]), most_minimum = std::max(most_minimum, minimum[j]);
    }
    const std::size_t start = out.size();
    put_half(out, most_scale / 63);
    put_half(out, most_minimum / 63);
    const auto* head = reinterpret_cast<const std::uint8_t*>(out.data() + start);
    const double d = half_of(head), m = half_of(head + 2);
    std::uint8_t packed[12] = {}, fifth[32] = {}, codes[128] = {};
    for (int j = 0; j < 8; ++j) {
        const int s = nearest(d == 0 ? 0 : scale[j] / d, 0, 63), n = nearest(m == 0 ? 0 : minimum[j] / m, 0, 63);
        if (j < 4) {
            packed[j] = static_cast<std::uint8_t>(packed[j] | s),
            packed[j + 4] = static_cast<std::uint8_t>(packed[j + 4] | n);
        } else {
            packed[j + 4] = static_cast<std::uint8_t>((s & 15) | (n & 15) << 4);
            packed[j - 4] = static_cast<std::uint8_t>(packed[j - 4] | s >> 4 << 6);
            packed[j] = static_cast<std::uint8_t>(packed[j] | n >> 4 << 6);
        }
        for (int i = 0; i < 32; ++i) {
            const int q = nearest(d * s == 0 ? 0 : (x[j * 32 + i] + m * n) / (d * s), 0, (1 << bits) - 1);
            auto& code = codes[j / 2 * 32 + i];
            code = static_cast<std::uint8_t>(code | (q & 15) << (j % 2 == 0 ? 0 : 4));
            fifth[i] = static_cast<std::uint8_t>(fifth[i] | (q >> 4) << j);
        }
    }
    out.append(reinterpret_cast<const char*>(packed), 12);
    if (bits == 5) out.append(reinterpret_cast<const char*>(fifth), 32);
    out.append(reinterpret_cast<const char*>(codes), 128);
}

void put_q6(std::string& out, const float* x) {
    double scale[16], most = 0;
    for (int j = 0; j < 16; ++j) {
        scale[j] = 0;
        for (int i = 0; i < 16; ++i) scale[j] = std::max(scale[j], std::abs(static_cast<double>(x[j * 16 + i])) / 31);
        most = std::max(most, scale[j]);
    }
    std::string d_bytes;
    put_half(d_bytes, most / 127);
    const double d = half_of(reinterpret_cast<const std::uint8_t*>(d_bytes.data()));
    std::uint8_t low[128] = {}, high[64] = {};
    std::int8_t scales[16] = {};
    for (int i = 0; i < 256; ++i) {
        const int s = nearest(d == 0 ? 0 : scale[i / 16] / d, -127, 127);
        scales[i / 16] = static_cast<std::int8_t>(s);
        const int q = nearest(d * s == 0 ? 0 : x[i] / (d * s), -32, 31) + 32;
        const int half = i / 128, within = i % 128, column = within % 32, quarter = within / 32;
        auto& l = low[half * 64 + (quarter % 2) * 32 + column];
        l = static_cast<std::uint8_t>(l | (q & 15) << (quarter < 2 ? 0 : 4));
        auto& h = high[half * 32 + column];
        h = static_cast<std::uint8_t>(h | q >> 4 << (2 * quarter));
    }
    out.append(reinterpret_cast<const char*>(low), 128);
    out.append(reinterpret_cast<const char*>(high), 64);
    out.append(reinterpret_cast<const char*>(scales), 16);
    out += d_bytes;
}

// --- meanings, element by element ---

using Element = double (*)(const std::uint8_t* block, int i);

int small_code(const std::uint8_t* codes, int i) { return i < 16 ? codes[i] & 15 : codes[i - 16] >> 4; }
int small_fifth(const std::uint8_t* word, int i) { return (word[i / 8] >> i % 8 & 1) * 16; }

double q8_0(const std::uint8_t* b, int i) { return half_of(b) * static_cast<std::int8_t>(b[2 + i]); }
double q4_0(const std::uint8_t* b, int i) { return half_of(b) * (small_code(b + 2, i) - 8); }
double q4_1(const std::uint8_t* b, int i) { return half_of(b) * small_code(b + 4, i) + half_of(b + 2); }
double q5_0(const std::uint8_t* b, int i) { return half_of(b) * (small_code(b + 6, i) + small_fifth(b + 2, i) - 16); }
double q5_1(const std::uint8_t* b, int i) {
    return half_of(b) * (small_code(b + 8, i) + small_fifth(b + 4, i)) + half_of(b + 2);
}

// As the format packs them: byte j % 4 of three groups of four.
int k_scale(const std::uint8_t* packed, int j) {
    return j < 4 ? packed[j] % 64 : packed[8 + j - 4] % 16 + packed[j - 4] / 64 * 16;
}
int k_minimum(const std::uint8_t* packed, int j) {
    return j < 4 ? packed[4 + j] % 64 : packed[8 + j - 4] / 16 + packed[4 + j - 4] / 64 * 16;
}
double k_value(const std::uint8_t* b, int i, int fifth_at, int codes_at) {
    const int chunk = i / 64, second = i % 64 / 32, column = i % 32, j = i / 32;
    const int byte = b[codes_at + chunk * 32 + column];
    int q = second == 1 ? byte / 16 : byte % 16;
    if (fifth_at > 0 && (b[fifth_at + column] & 1 << j) != 0) q += 16;
    return half_of(b) * k_scale(b + 4, j) * q - half_of(b + 2) * k_minimum(b + 4, j);
}
double q4_k(const std::uint8_t* b, int i) { return k_value(b, i, 0, 16); }
double q5_k(const std::uint8_t* b, int i) { return k_value(b, i, 16, 48); }
double q6_k(const std::uint8_t* b, int i) {
    const int half = i / 128, in_half = i % 128, column = in_half % 32;
    const int low_byte = b[64 * half + in_half % 64], high_byte = b[128 + 32 * half + column];
    const int low = in_half < 64 ? low_byte % 16 : low_byte / 16;
    const int high = high_byte / (1 << 2 * (in_half / 32)) % 4;
    return half_of(b + 208) * static_cast<std::int8_t>(b[192 + i / 16]) * (low + 16 * high - 32);
}
double f32(const std::uint8_t* b, int) {
    float value;
    std::memcpy(&value, b, 4);
    return value;
}
double f16(const std::uint8_t* b, int) { return half_of(b); }
double bf16(const std::uint8_t* b, int) {
    const std::uint8_t wide[4] = {0, 0, b[0], b[1]};
    return f32(wide, 0);
}

}  // namespace

void GgufFile::texts(std::string_view key, const std::vector<std::string>& values) {
    GgufBytes out;
    out.text(key).u32(9).u32(8).u64(values.size());
    for (const std::string& value : values) out.text(value);
    keys.push_back(out.bytes());
}
void GgufFile::integers(std::string_view key, const std::vector<std::int32_t>& values) {
    keys.push_back(array(key, 5, values));
}
void GgufFile::reals(std::string_view key, const std::vector<float>& values) { keys.push_back(array(key, 6, values)); }

std::string GgufFile::bytes() const {
    GgufBytes out;
    out.raw("GGUF", 4).u32(version).u64(tensors.size()).u64(keys.size());
    for (const std::string& key : keys) out.raw(key.data(), key.size());
    std::string data;
    for (const GgufFileTensor& tensor : tensors) {
        data.append(static_cast<std::size_t>(padding(static_cast<std::int64_t>(data.size()), alignment)), '\0');
        out.text(tensor.name).u32(static_cast<std::uint32_t>(tensor.shape.size()));
        for (auto size = tensor.shape.rbegin(); size != tensor.shape.rend(); ++size)
            out.u64(static_cast<std::uint64_t>(*size));
        out.u32(find_gguf_type(tensor.type)->id).u64(data.size());
        data += tensor.bytes;
    }
    std::string whole = out.bytes();
    whole.append(static_cast<std::size_t>(padding(static_cast<std::int64_t>(whole.size()), alignment)), '\0');
    return whole + data;
}

std::string gguf_rows(std::string_view type, const std::vector<float>& values) {
    std::string out;
    const auto step = static_cast<std::size_t>(find_gguf_type(type)->elements);
    for (std::size_t at = 0; at < values.size(); at += step) {
        const float* x = values.data() + at;
        if (type == "F32") out.append(reinterpret_cast<const char*>(x), 4);
        else if (type == "F16") put_half(out, *x);
        else if (type == "BF16") {
            const std::uint16_t bits = f32_to_bf16(*x);
            out.append(reinterpret_cast<const char*>(&bits), 2);
        } else if (type == "Q8_0") put_q8(out, x);
        else if (type == "Q4_K" || type == "Q5_K") put_k(out, x, type == "Q4_K" ? 4 : 5);
        else if (type == "Q6_K") put_q6(out, x);
        else put_small(out, x, type[1] - '0', type[3] == '1');
    }
    return out;
}

std::vector<double> gguf_meaning(std::string_view type, std::string_view bytes) {
    static const std::map<std::string_view, std::pair<Element, int>> table = {
        {"F32", {f32, 1}},     {"F16", {f16, 1}},     {"BF16", {bf16, 1}},  {"Q8_0", {q8_0, 32}},
        {"Q4_0", {q4_0, 32}},  {"Q4_1", {q4_1, 32}},  {"Q5_0", {q5_0, 32}}, {"Q5_1", {q5_1, 32}},
        {"Q4_K", {q4_k, 256}}, {"Q5_K", {q5_k, 256}}, {"Q6_K", {q6_k, 256}}};
    const auto [element, count] = table.at(type);
    const auto block = static_cast<std::size_t>(find_gguf_type(type)->bytes);
    std::vector<double> out;
    for (std::size_t at = 0; at < bytes.size(); at += block)
        for (int i = 0; i < count; ++i)
            out.push_back(element(reinterpret_cast<const std::uint8_t*>(bytes.data()) + at, i));
    return out;
}

void add_small_vocabulary(GgufFile& file, std::int64_t size) {
    std::vector<std::string> tokens;
    std::vector<std::int32_t> types;
    for (std::int64_t i = 0; i + 1 < size; ++i) {
        // Printable characters, which stand for themselves in the byte alphabet, then pairs and triples of them.
        std::string token;
        for (std::int64_t rest = i; token.empty() || rest > 0; rest /= 94)
            token.push_back(static_cast<char>('!' + rest % 94));
        tokens.push_back(token);
        types.push_back(1);
    }
    tokens.push_back("<|end|>");
    types.push_back(3);
    file.text("tokenizer.ggml.model", "gpt2");
    file.text("tokenizer.ggml.pre", "gpt-2");
    file.texts("tokenizer.ggml.tokens", tokens);
    file.integers("tokenizer.ggml.token_type", types);
    file.texts("tokenizer.ggml.merges", {});
    file.integer("tokenizer.ggml.eos_token_id", static_cast<std::uint32_t>(size - 1));
}

}  // namespace decodescope
