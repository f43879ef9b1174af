// Objects of CUDA that are destroyed with the variable that holds them.
#pragma once

#include <cublas_v2.h>
#include <cuda_runtime_api.h>

#include <utility>

namespace decodescope::cuda {

template <class T, auto destroy>
class Handle {
public:
    Handle() = default;
    Handle(Handle&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Handle& operator=(Handle&& other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Handle() {
        if (handle_ != nullptr) (void)destroy(handle_);
    }
    T get() const { return handle_; }
    T* address() { return &handle_; }  // for the function that makes it
    explicit operator bool() const { return handle_ != nullptr; }

private:
    T handle_ = nullptr;
};

using Stream = Handle<cudaStream_t, cudaStreamDestroy>;
using Event = Handle<cudaEvent_t, cudaEventDestroy>;
using Graph = Handle<cudaGraph_t, cudaGraphDestroy>;
using GraphExecutable = Handle<cudaGraphExec_t, cudaGraphExecDestroy>;
using Blas = Handle<cublasHandle_t, cublasDestroy_v2>;

}  // namespace decodescope::cuda
