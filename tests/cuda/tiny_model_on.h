// A tiny model on any backend, for tests that look at what the backend does rather than at numbers.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "tests/support/kernel_cases.h"

namespace decodescope {

inline test::TinyShape tiny() {
    test::TinyShape shape;
    shape.heads = 4, shape.kv_heads = 2, shape.head_dim = 6, shape.context = 400;
    shape.hidden = 20, shape.feed_forward = 27, shape.vocabulary = 23;
    shape.type = ElementType::F16;
    return shape;
}

// A tiny model on a backend; the error of the first thing that fails.
class TinyModelOn {
public:
    explicit TinyModelOn(Backend& backend, int max_rows = 64, bool profile = false) : backend_(backend) {
        test::ProgramBuilder builder(21);
        test::build_tiny_model(tiny(), builder);
        auto weights = backend.load_weights(builder.table, builder.program, WeightType::AsInFile, {}, {});
        if (!weights) {
            status = weights.error();
            return;
        }
        CompileOptions options;
        options.max_rows = options.max_logits_rows = max_rows;
        options.profile = profile;
        auto compiled = backend.compile(builder.program, *weights, options);
        if (compiled) step = std::move(*compiled);
        else status = compiled.error();
    }
    std::unique_ptr<test::TestCache> cache(int capacity = 64) const {
        return test::TestCache::make(backend_, {tiny().layers, tiny().kv_heads, tiny().head_dim, capacity,
                                                ElementType::F16, ElementType::I8, test::Layout::Paged});
    }
    test::StepResult run(test::TestCache& cache, int first, int rows, test::StepOptions options = {}) {
        std::vector<std::int32_t> tokens;
        for (int i = 0; i < rows; ++i) tokens.push_back((first + 3 * i) % tiny().vocabulary);
        const std::vector<KvView> views = cache.views(first + rows);
        return test::run_step(backend_, *step, test::StepCase::causal(tokens, first), {{0, rows, views}}, options);
    }
    Status status;
    std::unique_ptr<CompiledStep> step;

private:
    Backend& backend_;
};

// Loads, prefills 20 rows, decodes three with and without capture.
inline Status whole_run(Backend& backend) {
    TinyModelOn model(backend, 20);
    if (!model.status.ok()) return model.status;
    const auto cache = model.cache(32);
    if (cache == nullptr) return make_error(ErrorKind::Memory, "no cache");
    DS_RETURN_IF_ERROR(model.run(*cache, 0, 20).status);
    for (int row = 20; row < 24; ++row) DS_RETURN_IF_ERROR(model.run(*cache, row, 1).status);
    return model.run(*cache, 24, 1, {true, 0, {}}).status;
}

}  // namespace decodescope
