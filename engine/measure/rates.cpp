#include "engine/measure/rates.h"

#include "engine/measure/statistics.h"

namespace decodescope {

RunRates run_rates(const RunRecording& recording) {
    RunRates rates;
    std::vector<double> decode;
    double decode_micros = 0;
    const std::int32_t count = recording.step_count();
    for (std::int32_t s = 0; s < count; ++s) {
        const auto step = recording.step(s);
        rates.captured = rates.captured || step->captured;
        if (step->phase == Phase::Decode && step->sampled_token >= 0) {
            decode_micros += step->micros;
            decode.push_back(step->micros);
        }
        if (s != 0 || step->phase != Phase::Prefill || !(step->micros > 0)) continue;
        if (step->sampled_token >= 0) rates.first_token_ms = step->micros / 1000;
        const std::int64_t fed = step->kv.tokens_stored > 0 ? step->kv.rows_written : step->row_count;
        if (fed > 0) rates.prefill_tokens_per_second = static_cast<double>(fed) / step->micros * 1e6;
    }
    // The first of n tokens came with the prefill, so that n - 1 decode steps lie between the first and the last.
    if (decode.empty() || !(decode_micros > 0)) return rates;
    rates.decode_tokens_per_second = static_cast<double>(decode.size()) / decode_micros * 1e6;
    rates.decode_ms_per_token = spread_of(decode).median / 1000;
    return rates;
}

}  // namespace decodescope
