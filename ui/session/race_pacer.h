// How often the lane without the cache may run beside the cached one, so that it shows what it costs and never freezes
// the run: at every step while a pass is short, at every 8th and 32nd length when going flat out, at doubling lengths
// when a pass takes longer than half a second.
#pragma once

#include <cstdint>

namespace decodescope {

class RacePacer {
public:
    static constexpr double kLongPassMicros = 500'000;   // beyond it: doubling lengths only
    static constexpr double kEveryMicros = 20'000;       // flat out: up to here at every length
    static constexpr double kEighthMicros = 100'000;     // up to here at every 8th, beyond it at every 32nd

    // What is known of the price: the last pass took `micros` for `flops` operations. A prefill, which also warms up,
    // is only a guess: it holds back passes of seconds and nothing else.
    void learn(double micros, std::int64_t flops);
    void guess(double micros, std::int64_t flops);
    // Time that a pass of `flops` will take; 0 while nothing is known.
    double expected_micros(std::int64_t flops) const;

    // Distance between measured lengths: 1, 8, 32; 0 = doubling lengths.
    int stride(std::int64_t flops, bool flat_out) const;
    // Whether to measure at `length` tokens.
    bool due(std::int64_t length, std::int64_t flops, bool flat_out) const;
    // True once for every stride that is not 1 and was not told yet.
    bool tell(int stride);

private:
    double micros_per_flop_ = 0;
    bool guessed_ = true;
    unsigned told_ = 0;
};

}  // namespace decodescope
