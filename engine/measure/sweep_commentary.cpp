#include "engine/measure/sweep_commentary.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/measure/statistics.h"
#include "engine/support/numbers.h"

namespace decodescope {

namespace {

Spread spread_of_row(const SweepRow& row) { return {row.median_ms, row.min_ms, row.max_ms}; }

// The rows of one length whose passes make one new token: one for each lane.
std::vector<const SweepRow*> lanes_at(const SweepResult& result, std::int64_t length) {
    std::vector<const SweepRow*> lanes;
    for (const SweepRow& row : result.rows)
        if (row.length == length && row.phase != "prefill" && row.min_ms > 0) lanes.push_back(&row);
    return lanes;
}

void add_gains(const SweepResult& result, const std::vector<const SweepRow*>& lanes, LengthCommentary& out) {
    const auto slow =
        std::find_if(lanes.begin(), lanes.end(), [](const SweepRow* row) { return row->phase == "recompute"; });
    if (slow == lanes.end()) return;
    for (const SweepRow* fast : lanes) {
        if (fast->phase != "decode") continue;
        Sentence gain =
            gain_sentence(result.run, out.length, fast->median_ms, (*slow)->median_ms, kMillisecondDigits);
        // A gain that lies within the spread is none that was measured; that is said of the pair.
        const bool seen = compare_spreads(spread_of_row(**slow), spread_of_row(*fast)).different;
        if (gain.id == "gain" && !seen) continue;
        out.sentences.push_back({lane_name(result, fast->cache, fast->kv_type), std::move(gain)});
    }
}

void add_pairs(const SweepResult& result, const std::vector<const SweepRow*>& lanes, LengthCommentary& out) {
    for (std::size_t i = 0; i < lanes.size(); ++i)
        for (std::size_t j = i + 1; j < lanes.size(); ++j) {
            const Comparison pair = compare_spreads(spread_of_row(*lanes[i]), spread_of_row(*lanes[j]));
            if (pair.different) continue;
            out.sentences.push_back({{},
                                     make_sentence("compare.same",
                                                   {lane_name(result, lanes[i]->cache, lanes[i]->kv_type),
                                                    lane_name(result, lanes[j]->cache, lanes[j]->kv_type),
                                                    format_grouped(out.length),
                                                    format_fixed(pair.ratio, kSpeedUpDigits),
                                                    format_fixed(pair.low, kSpeedUpDigits),
                                                    format_fixed(pair.high, kSpeedUpDigits)})});
        }
}

}  // namespace

std::string lane_name(const SweepResult& result, const std::string& cache, const std::string& kv_type) {
    // The format tells lanes apart where one cache was measured with several.
    for (const SweepRow& row : result.rows)
        if (row.cache == cache && row.kv_type != kv_type) return fmt::format("{} ({})", cache, kv_type);
    return cache;
}

std::vector<LengthCommentary> sweep_commentary(const SweepResult& result) {
    std::vector<LengthCommentary> all;
    for (const SweepRow& row : result.rows) {
        const bool known = std::any_of(all.begin(), all.end(),
                                       [&](const LengthCommentary& other) { return other.length == row.length; });
        if (known) continue;
        LengthCommentary& one = all.emplace_back();
        one.length = row.length;
        const auto lanes = lanes_at(result, row.length);
        add_gains(result, lanes, one);
        add_pairs(result, lanes, one);
        for (const auto& [lane, sentence] : one.sentences)
            one.english += fmt::format("{}{}{}{}", one.english.empty() ? "" : " ", lane, lane.empty() ? "" : ": ",
                                       sentence.english);
    }
    std::erase_if(all, [](const LengthCommentary& one) { return one.sentences.empty(); });
    return all;
}

}  // namespace decodescope
