// A stack of its own for every emulated CUDA thread, and the switch between them. The switch is Boost.Context's; around
// it go the notes that the address and thread sanitizers need to follow a change of stack. The scheduler is compiled
// without instrumentation, so the build says which sanitizer the rest has: DECODESCOPE_SIMT_ASAN, DECODESCOPE_SIMT_TSAN.
#pragma once

#include <sys/mman.h>

#include <boost/context/detail/fcontext.hpp>
#include <cstddef>
#include <new>

#ifdef DECODESCOPE_SIMT_ASAN
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif
#ifdef DECODESCOPE_SIMT_TSAN
#include <sanitizer/tsan_interface.h>
#endif

namespace decodescope::simt {

// Somewhere to go on: a fiber, or the stack of the thread that runs the scheduler.
struct Place {
    boost::context::detail::fcontext_t context = nullptr;
    const void* stack_low = nullptr;
    std::size_t stack_bytes = 0;
    void* fake_stack = nullptr;   // address sanitizer
    void* tsan_fiber = nullptr;   // thread sanitizer
};

inline thread_local Place* left_place = nullptr;  // who switched last

inline void arrived([[maybe_unused]] void* own_fake_stack) {
#ifdef DECODESCOPE_SIMT_ASAN
    __sanitizer_finish_switch_fiber(own_fake_stack, &left_place->stack_low, &left_place->stack_bytes);
#endif
}

// Goes on at `to`; returns when somebody switches back to `from`. `for_good`: nobody will.
inline void switch_place(Place& from, Place& to, [[maybe_unused]] bool for_good = false) {
    left_place = &from;
#ifdef DECODESCOPE_SIMT_ASAN
    __sanitizer_start_switch_fiber(for_good ? nullptr : &from.fake_stack, to.stack_low, to.stack_bytes);
#endif
#ifdef DECODESCOPE_SIMT_TSAN
    __tsan_switch_to_fiber(to.tsan_fiber, __tsan_switch_to_fiber_no_sync);  // taking turns orders nothing
#endif
    const auto back = boost::context::detail::jump_fcontext(to.context, &from);
    static_cast<Place*>(back.data)->context = back.fctx;
    arrived(from.fake_stack);
}

// A stack that is used again and again. One that was left half way is simply started anew: kernels own nothing that
// would have to be destroyed.
class Fiber {
public:
    explicit Fiber(std::size_t stack_bytes) : bytes_(stack_bytes + kGuardBytes) {
        void* block = mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (block == MAP_FAILED) throw std::bad_alloc();
        mprotect(block, kGuardBytes, PROT_NONE);  // an overflow ends the program instead of damaging a neighbour
        low_ = static_cast<char*>(block) + kGuardBytes;
#ifdef DECODESCOPE_SIMT_TSAN
        place.tsan_fiber = __tsan_create_fiber(0);
#endif
    }
    ~Fiber() {
#ifdef DECODESCOPE_SIMT_TSAN
        __tsan_destroy_fiber(place.tsan_fiber);
#endif
        munmap(low_ - kGuardBytes, bytes_);
    }
    Fiber(const Fiber&) = delete;
    Fiber& operator=(const Fiber&) = delete;

    // The next switch here calls entry(), which must never return.
    template <void (*entry)()>
    void start_anew() {
        place.stack_low = low_;
        place.stack_bytes = bytes_ - kGuardBytes;
        place.fake_stack = nullptr;
#ifdef DECODESCOPE_SIMT_ASAN
        if (left_half_way_) __asan_unpoison_memory_region(low_, place.stack_bytes);  // what the frames left behind
#endif
        left_half_way_ = true;
        place.context = boost::context::detail::make_fcontext(
            low_ + place.stack_bytes, place.stack_bytes, [](boost::context::detail::transfer_t from) {
                static_cast<Place*>(from.data)->context = from.fctx;
                arrived(nullptr);
                entry();
            });
    }

    // Nothing but the frames of the scheduler is on the stack any more.
    void finished() { left_half_way_ = false; }

    Place place;

private:
    static constexpr std::size_t kGuardBytes = 4096;
    char* low_ = nullptr;
    std::size_t bytes_;
    bool left_half_way_ = false;
};

}  // namespace decodescope::simt
