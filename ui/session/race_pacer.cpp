#include "ui/session/race_pacer.h"

#include <bit>

namespace decodescope {

void RacePacer::learn(double micros, std::int64_t flops) {
    if (micros <= 0 || flops <= 0) return;
    micros_per_flop_ = micros / static_cast<double>(flops);
    guessed_ = false;
}

void RacePacer::guess(double micros, std::int64_t flops) {
    learn(micros, flops);
    guessed_ = true;
}

double RacePacer::expected_micros(std::int64_t flops) const { return micros_per_flop_ * static_cast<double>(flops); }

int RacePacer::stride(std::int64_t flops, bool flat_out) const {
    const double expected = expected_micros(flops);
    if (expected > kLongPassMicros) return 0;
    if (!flat_out || guessed_ || expected <= kEveryMicros) return 1;
    return expected <= kEighthMicros ? 8 : 32;
}

bool RacePacer::due(std::int64_t length, std::int64_t flops, bool flat_out) const {
    const int every = stride(flops, flat_out);
    if (every == 0) return length > 0 && std::has_single_bit(static_cast<std::uint64_t>(length));
    return length % every == 0;
}

bool RacePacer::tell(int stride) {
    const unsigned bit = stride == 0 ? 1u : static_cast<unsigned>(stride);
    if (stride == 1 || (told_ & bit) != 0) return false;
    told_ |= bit;
    return true;
}

}  // namespace decodescope
