// What this machine can do at most, to hold measured figures against.
#pragma once

#include <stop_token>

namespace decodescope {

struct ReadRates {
    double gb_s_1 = 0;    // one thread, 1e9 bytes per second
    double gb_s_all = 0;  // all threads
};

struct MachineRates {
    double read_gb_s_1 = 0;    // plain reading of memory, one thread, 1e9 bytes per second
    double read_gb_s_all = 0;  // all threads
    double gflops_1 = 0;       // f32 multiply-adds in registers, 2 per multiply-add, 1e9 per second
    double gflops_all = 0;
    double buffer_mib = 0;     // what was read
};

// Takes a few hundred milliseconds. Zeros where it was stopped or memory is short.
MachineRates measure_machine_rates(int threads, std::stop_token stop);

// Plain reading of memory in pages of 4 KiB, which is what a program gets that does not ask; our buffers ask for 2 MiB.
ReadRates measure_small_page_rates(int threads, std::stop_token stop);

}  // namespace decodescope
