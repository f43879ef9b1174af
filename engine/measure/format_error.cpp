#include "engine/measure/format_error.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/measure/logit_difference.h"

namespace decodescope {
namespace {

// |other - exact| / |exact|
struct Sums {
    double difference = 0, size = 0;
    void add(std::span<const float> exact, std::span<const float> other) {
        for (std::size_t i = 0; i < exact.size(); ++i) {
            const double d = static_cast<double>(other[i]) - static_cast<double>(exact[i]);
            difference += d * d;
            size += static_cast<double>(exact[i]) * static_cast<double>(exact[i]);
        }
    }
    double relative() const { return difference == 0 ? 0 : std::sqrt(difference / size); }
};

// Two sessions that are fed the same tokens.
class FormatRuns {
public:
    FormatRuns(std::unique_ptr<DecodeSession> exact, std::unique_ptr<DecodeSession> coarse)
        : exact_(std::move(exact)),
          coarse_(std::move(coarse)),
          sampled_(exact_->model().model->sampled_vocabulary) {}

    // Feeds the tokens to both, in passes that both can take, and compares every row of logits.
    Status feed(std::span<const std::int32_t> tokens, const ProgressFn& progress, std::int64_t total,
                std::stop_token stop) {
        while (!tokens.empty()) {
            const auto rows = static_cast<std::size_t>(
                std::min({std::ssize(tokens), exact_->max_pass_rows(), coarse_->max_pass_rows()}));
            auto exact = exact_->feed(tokens.first(rows), stop);
            if (!exact.ok()) return exact.error();
            auto coarse = coarse_->feed(tokens.first(rows), stop);
            if (!coarse.ok()) return coarse.error();
            const std::size_t width = exact->logits.size();
            for (std::size_t row = 0; row < rows; ++row)
                compare(sampled_part(exact->all_logits.subspan(row * width, width), sampled_),
                        sampled_part(coarse->all_logits.subspan(row * width, width), sampled_));
            next_ = greedy_token(sampled_part(exact->logits, sampled_));
            tokens = tokens.subspan(rows);
            if (progress) progress(error_.tokens, total);
        }
        return {};
    }

    Status compare_rows(std::stop_token stop) {
        auto layers = compare_stored_rows(*exact_, *coarse_, std::move(stop));
        if (!layers.ok()) return layers.error();
        error_.layers = std::move(*layers);
        return {};
    }

    std::int32_t next() const { return next_; }
    std::int64_t room() const { return exact_->context() - std::ssize(exact_->tokens()); }

    FormatError finish(const KvFormat& format) {
        error_.mean_kl = kl_sum_ / static_cast<double>(error_.tokens);
        error_.warning = warning(format);
        return std::move(error_);
    }

private:
    void compare(std::span<const float> exact, std::span<const float> coarse) {
        Sums sums;
        sums.add(exact, coarse);
        error_.logits_l2 = std::max(error_.logits_l2, sums.relative());
        error_.max_abs_logit_diff = std::max(error_.max_abs_logit_diff, max_abs_difference(exact, coarse));
        const double kl = kl_divergence(exact, coarse);
        error_.max_kl = std::max(error_.max_kl, kl);
        kl_sum_ += kl;
        if (greedy_token(exact) != greedy_token(coarse)) {
            if (!error_.first_diverging) error_.first_diverging = static_cast<std::int32_t>(error_.tokens);
            ++error_.diverging;
        }
        ++error_.tokens;
    }

    std::string warning(const KvFormat& format) const {
        for (std::size_t layer = 0; layer < error_.layers.size(); ++layer) {
            const auto [k, v] = error_.layers[layer];
            if (std::max(k, v) <= kFormatWarnRows) continue;
            return fmt::format(
                "{} does not suit this model: the {} rows of layer {} are off by {:.1f} %, and {:.0f} % is much.",
                to_string(format), k >= v ? "K" : "V", layer, 100 * std::max(k, v), 100 * kFormatWarnRows);
        }
        if (error_.logits_l2 > kFormatWarnL2)
            return fmt::format("{} changes the logits by up to {:.1f} %; more than {:.0f} % is much.",
                               to_string(format), 100 * error_.logits_l2, 100 * kFormatWarnL2);
        if (error_.max_kl > kFormatWarnKl)
            return fmt::format(
                "{} changes what is likely: a KL divergence of {:.3g} nats at one token; more than {:.3g} is much.",
                to_string(format), error_.max_kl, kFormatWarnKl);
        return {};
    }

    std::unique_ptr<DecodeSession> exact_, coarse_;
    std::int64_t sampled_;  // ids that may be sampled, the first ones
    FormatError error_;
    double kl_sum_ = 0;
    std::int32_t next_ = -1;
};

Status check_request(const FormatErrorRequest& request) {
    if (request.tokens.empty() || request.more_tokens < 0)
        return make_error(ErrorKind::Argument,
                          fmt::format(
                              "Formats are compared on at least one token and then 0 or more, not on {} and {}.",
                              request.tokens.size(), request.more_tokens));
    const StrategyDescriptor* strategy = find_strategy(request.cache.id);
    if (strategy != nullptr && (!strategy->has_cache || strategy->lossy))
        return make_error(ErrorKind::Argument,
                          fmt::format("The cache \"{}\" does not keep all tokens: their rows cannot be compared.",
                                      to_string(request.cache)),
                          "Choose preallocated, growing or paged.");
    return {};
}

}  // namespace

Result<std::vector<LayerFormatError>> compare_stored_rows(const DecodeSession& exact, const DecodeSession& other,
                                                          std::stop_token stop) {
    const auto tokens = static_cast<std::int32_t>(exact.tokens().size());
    DS_CHECK(std::ssize(other.tokens()) == tokens);
    std::vector<LayerFormatError> layers(static_cast<std::size_t>(exact.model().model->config.layers));
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        Sums k, v;
        if (stop.stop_requested()) return make_error(ErrorKind::Cancelled, "Cancelled while rows were compared.");
        for (std::int32_t position = 0; position < tokens; ++position) {
            auto one = exact.cell(static_cast<std::int32_t>(layer), position);
            if (!one.ok()) return one.error();
            auto another = other.cell(static_cast<std::int32_t>(layer), position);
            if (!another.ok()) return another.error();
            k.add(one->k, another->k);
            v.add(one->v, another->v);
        }
        layers[layer] = {k.relative(), v.relative()};
    }
    return layers;
}

Result<FormatError> measure_format_error(LoadedModelPtr model, const FormatErrorRequest& request,
                                         const ProgressFn& progress, std::stop_token stop) {
    DS_RETURN_IF_ERROR(check_request(request));
    SessionConfig config;
    config.cache = request.cache;
    config.all_logits = true;
    const std::int64_t total = std::ssize(request.tokens) + request.more_tokens;
    config.expected_tokens = total;
    auto exact = DecodeSession::create(model, config);
    if (!exact.ok()) return exact.error();
    config.kv = request.format;
    auto coarse = DecodeSession::create(model, config);
    if (!coarse.ok()) return coarse.error();
    FormatRuns comparison(std::move(*exact), std::move(*coarse));
    DS_RETURN_IF_ERROR(comparison.feed(request.tokens, progress, total, stop));
    for (std::int64_t i = 0; i < request.more_tokens && comparison.room() > 0; ++i) {
        const std::int32_t next = comparison.next();
        DS_RETURN_IF_ERROR(comparison.feed({&next, 1}, progress, total, stop));
    }
    DS_RETURN_IF_ERROR(comparison.compare_rows(stop));
    return comparison.finish(request.format);
}

}  // namespace decodescope
