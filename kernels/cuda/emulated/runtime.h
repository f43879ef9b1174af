// How a test steers and inspects the emulated CUDA runtime and cuBLAS. They define the functions that NVIDIA's headers
// declare, so the backend's host code is compiled unchanged and only linked differently. A function that is missing is
// an error of the linker.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace decodescope::emulated {

struct Machine {
    bool lazy = true;  // queued work runs when the host waits for it: a missing wait shows; else at once
    int devices = 1;
    int driver_version = 13000;          // 0: no driver is installed
    cudaError_t answer = cudaSuccess;    // of every call that needs a device: 35, 100
    cudaError_t launch_answer = cudaSuccess;  // of every kernel launch: 209, 222
    int major = 9, minor = 0;
    std::size_t memory_bytes = std::size_t{1} << 30;  // of each device
};

// Forgets everything, leaks included, and starts over.
void reset(const Machine& machine = {});

// The n-th call of `name` from now on fails, counted from 1. All functions that allocate or create something count as
// "allocation" too.
void fail_call(std::string_view name, std::int64_t n, cudaError_t error);
std::int64_t calls(std::string_view name);   // since reset()
std::int64_t all_calls();                    // of any function
std::int64_t kernel_launches();              // done, graphs included

std::size_t device_bytes();                  // live
std::vector<std::string> leaks();            // what was created and not destroyed, one line each
std::vector<std::string> violations();       // what a real device would punish or leave undefined

// For the emulated cuBLAS.
cudaError_t enter_call(const char* name, bool creates = false);
void enqueue(cudaStream_t stream, std::function<std::string()> work);  // work returns "" or its fault
bool on_device(const void* data, std::size_t bytes, const char* what); // else a violation
void add_violation(std::string text);
void track(const void* object, const char* kind, bool alive);

}  // namespace decodescope::emulated
