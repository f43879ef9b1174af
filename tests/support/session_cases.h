// Conversations that a device must hold as the CPU does: every strategy with every format that it takes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace decodescope {

// A cache that rounds turns a difference of one bit into one of its own steps.
inline double session_tolerance(const std::string& kv) {
    if (kv == "f32") return 2e-5;
    return kv.find("int8") != std::string::npos || kv.find("bf16") != std::string::npos ? 2e-2 : 3e-3;
}

struct SessionCase {
    std::string cache, kv = "f32";
    std::int64_t chunk = 5;
    bool llama = true;
};
inline void PrintTo(const SessionCase& c, std::ostream* out) {
    *out << c.cache << " " << c.kv << " chunk " << c.chunk;
}

// Every strategy with every format that it takes; chunks and families take turns.
inline std::vector<SessionCase> session_cases() {
    const std::vector<std::string> windows = {"ring:window=7", "sinks:sinks=2,window=5",
                                              "sinks:sinks=2,window=5,positions=rebased", "h2o:budget=9,recent=3"};
    const std::vector<std::string> whole = {"recompute", "growing", "preallocated:capacity=64",
                                            "preallocated:capacity=64,slab=true", "paged:page=4"};
    const std::vector<std::string> plain = {"f32", "f16", "bf16", "int8", "k=f16,v=int8"};
    const std::int64_t chunks[] = {1, 3, 5, 16, 40};
    std::vector<SessionCase> cases;
    for (const auto& caches : {windows, whole})
        for (const std::string& cache : caches)
            for (const std::string& kv : plain) {
                if (cache == "recompute" && kv != "f32") continue;
                const std::size_t n = cases.size();
                const bool rotary_only = cache.find("rebased") != std::string::npos;
                cases.push_back({cache, kv, chunks[n % 5], rotary_only || n % 3 != 2});
            }
    for (const char* cache : {"growing", "preallocated:capacity=64", "paged:page=4"})
        for (const char* kv : {"int8-kivi(group=4,residual=4)", "k=int8-kivi(group=4,residual=6),v=f16"})
            cases.push_back({cache, kv, chunks[cases.size() % 5], cases.size() % 2 == 0});
    for (const char* place : {"host", "file"})
        for (const char* cache : {"growing:offload=", "ring:window=7,offload=", "h2o:budget=9,recent=3,offload="})
            cases.push_back({cache + std::string(place), "f16", chunks[cases.size() % 5], true});
    return cases;
}

}  // namespace decodescope
