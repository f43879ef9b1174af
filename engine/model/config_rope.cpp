#include "engine/model/config_rope.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <string_view>

#include <fmt/format.h>

#include "engine/support/json_value.h"

namespace decodescope {
namespace {

// A number of an object that must be there.
double number_in(Fields& fields, const JsonValue& object, std::string_view where, std::string_view key) {
    const JsonValue* value = object.find(key);
    if (value != nullptr && value->is_number() && value->as_number() > 0 && std::isfinite(value->as_number()))
        return value->as_number();
    fields.fail(ErrorKind::Model, fmt::format("\"{}\" has {} as \"{}\"; a positive number is needed.", where,
                                              value == nullptr ? "nothing" : value->described(), key));
    return 1.0;
}

// LLaMA 3's: wavelengths beyond what the model was first trained on are stretched by `factor`, short ones are kept, and
// those between change from one to the other.
void set_llama3_divisors(Fields& fields, const JsonValue& object, std::string_view key, ModelConfig& config,
                         double theta, std::int64_t rotary) {
    const double factor = number_in(fields, object, key, "factor");
    const double low = number_in(fields, object, key, "low_freq_factor");
    const double high = number_in(fields, object, key, "high_freq_factor");
    const double trained = number_in(fields, object, key, "original_max_position_embeddings");
    if (!(high > low))
        return fields.fail(ErrorKind::Model,
                           fmt::format("\"{}\": \"high_freq_factor\" is not above the low one.", key));
    for (std::int64_t i = 0; i < rotary / 2; ++i) {
        const double wavelength = 2 * 3.14159265358979323846 *
                                  std::pow(theta, 2.0 * static_cast<double>(i) / static_cast<double>(rotary));
        double divisor = wavelength > trained / low ? factor : 1.0;
        if (wavelength <= trained / low && wavelength >= trained / high) {
            const double smooth = (trained / wavelength - low) / (high - low);
            divisor = 1.0 / ((1.0 - smooth) / factor + smooth);
        }
        config.rope_divisors.push_back(static_cast<float>(divisor));
    }
}

// No member may go unread: it would change the result.
void check_members(Fields& fields, std::string_view key, const JsonValue& object,
                   std::initializer_list<std::string_view> known) {
    for (const auto& [name, value] : object.members())
        if (!value.is_null() && std::find(known.begin(), known.end(), name) == known.end())
            fields.fail(ErrorKind::Unsupported, fmt::format("\"{}\" in \"{}\" is not supported.", name, key));
}

void read_theta(Fields& fields, const JsonValue& object, double& theta) {
    const JsonValue* value = object.find("rope_theta");
    if (value == nullptr) return;
    if (!value->is_number()) return fields.fail(ErrorKind::Model, "\"rope_theta\" is not a number.");
    theta = value->as_number();
}

// Of layers that attend to a window: another base and nothing else.
void read_local_rope(Fields& fields, const JsonValue& object, ModelConfig& config) {
    check_members(fields, "sliding_attention", object, {"rope_type", "rope_theta"});
    const JsonValue* type = object.find("rope_type");
    if (type != nullptr && type->as_string() != "default")
        fields.fail(ErrorKind::Unsupported, fmt::format("\"rope_type\" {} of layers with a window is not supported.",
                                                        type->described()));
    double theta = static_cast<double>(config.local_rope_theta);
    read_theta(fields, object, theta);
    config.local_rope_theta = static_cast<float>(theta);
}

void read_rope_members(Fields& fields, std::string_view key, const JsonValue& given, ModelConfig& config,
                       double& theta);

// "rope_scaling" or "rope_parameters": the plain kind, linear and llama3. Gives theta where the object has it. Newer
// files of models with two kinds of layers have an object for each.
void read_rope_object(Fields& fields, std::string_view key, ModelConfig& config, double& theta) {
    const JsonValue* object = fields.present(key);
    if (object == nullptr) return;
    if (!object->is_object())
        return fields.fail(ErrorKind::Model, fmt::format("\"{}\" is {}, not an object.", key, object->described()));
    const JsonValue *global = object->find("full_attention"), *local = object->find("sliding_attention");
    if (config.family != Family::Gemma3 || global == nullptr || local == nullptr)
        return read_rope_members(fields, key, *object, config, theta);
    check_members(fields, key, *object, {"full_attention", "sliding_attention"});
    read_rope_members(fields, "full_attention", *global, config, theta);
    read_local_rope(fields, *local, config);
}

void read_rope_members(Fields& fields, std::string_view key, const JsonValue& given, ModelConfig& config,
                       double& theta) {
    const JsonValue* object = &given;
    check_members(fields, key, given,
                  {"type", "rope_type", "rope_theta", "factor", "low_freq_factor", "high_freq_factor",
                   "original_max_position_embeddings", "partial_rotary_factor"});
    read_theta(fields, given, theta);
    const JsonValue* type = object->find("rope_type");
    if (type == nullptr) type = object->find("type");
    const bool plain = key == "rope_parameters" && type == nullptr;
    if (plain || (type != nullptr && type->as_string() == "default")) return;
    const std::int64_t rotary =
        std::clamp<std::int64_t>(config.rotary_dim > 0 ? config.rotary_dim : config.head_dim, 0, 65536);
    if (type != nullptr && type->as_string() == "linear") {
        config.rope_divisors.assign(static_cast<std::size_t>(rotary / 2),
                                    static_cast<float>(number_in(fields, *object, key, "factor")));
        return;
    }
    if (type != nullptr && type->as_string() == "llama3")
        return set_llama3_divisors(fields, *object, key, config, theta, rotary);
    fields.fail(ErrorKind::Unsupported, fmt::format("\"{}\" of type {} is not supported.", key,
                                                    type == nullptr ? "(none given)" : type->described()));
}

}  // namespace

void read_rope(Fields& fields, ModelConfig& config, double usual_theta) {
    double theta = fields.number("rope_theta", usual_theta);
    read_rope_object(fields, "rope_scaling", config, theta);
    read_rope_object(fields, "rope_parameters", config, theta);
    config.rope_theta = static_cast<float>(theta);
}

double rotary_part(Fields& fields, double usual) {
    const JsonValue* object = fields.present("rope_parameters");
    const JsonValue* inner = object != nullptr ? object->find("partial_rotary_factor") : nullptr;
    if (inner != nullptr && inner->is_number()) return inner->as_number();
    return fields.number("partial_rotary_factor", usual);
}

}  // namespace decodescope
