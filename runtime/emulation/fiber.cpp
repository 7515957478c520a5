#include "runtime/emulation/fiber.hpp"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

#include "msda/error.hpp"
#include "runtime/emulation/sanitizers.hpp"

// msda_fiber_switch(void** save, void* load) saves the registers that a call must preserve on the stack it leaves and
// takes those of the stack it enters. A new stack holds a frame that "returns" into msda_fiber_start, which calls the
// entry with its argument. ucontext would do the same with a system call a switch: 20 to 100 times slower.
extern "C" {
void msda_fiber_switch(void** save, void* load);
void msda_fiber_start();
}

#if defined(__x86_64__)
asm(R"(
.pushsection .text
.globl msda_fiber_switch
.hidden msda_fiber_switch
.type msda_fiber_switch, @function
msda_fiber_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
.size msda_fiber_switch, .-msda_fiber_switch
.globl msda_fiber_start
.hidden msda_fiber_start
.type msda_fiber_start, @function
msda_fiber_start:
    .cfi_startproc
    .cfi_undefined rip
    movq %r12, %rdi
    callq *%r13
    ud2
    .cfi_endproc
.size msda_fiber_start, .-msda_fiber_start
.popsection
)");
constexpr int frame_words = 7, argument_word = 3, entry_word = 2, return_word = 6;
#elif defined(__aarch64__)
asm(R"(
.pushsection .text
.globl msda_fiber_switch
.hidden msda_fiber_switch
.type msda_fiber_switch, %function
msda_fiber_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
.size msda_fiber_switch, .-msda_fiber_switch
.globl msda_fiber_start
.hidden msda_fiber_start
.type msda_fiber_start, %function
msda_fiber_start:
    .cfi_startproc
    .cfi_undefined x30
    mov x0, x19
    blr x20
    brk #1
    .cfi_endproc
.size msda_fiber_start, .-msda_fiber_start
.popsection
)");
constexpr int frame_words = 20, argument_word = 0, entry_word = 1, return_word = 11;
#else
#error "runtime/emulation/fiber.cpp: write msda_fiber_switch for this processor"
#endif

namespace msda::emulation {
namespace {

// Enough for the largest unrolled kernel; sanitizers surround each local variable with space of their own.
constexpr std::size_t stack_bytes = under_asan || under_tsan ? 256 << 10 : 64 << 10;

void* first_frame(void* stack, std::size_t bytes, void (*entry)(void*), void* argument) {
    auto* top = reinterpret_cast<std::uintptr_t*>(static_cast<char*>(stack) + bytes);
    std::uintptr_t* frame = top - frame_words;  // once it is popped, the stack pointer is a multiple of 16
    frame[argument_word] = reinterpret_cast<std::uintptr_t>(argument);
    frame[entry_word] = reinterpret_cast<std::uintptr_t>(entry);
    frame[return_word] = reinterpret_cast<std::uintptr_t>(&msda_fiber_start);
    return frame;
}

}  // namespace

Fiber host_fiber() {
    Fiber host;
#ifdef MSDA_ASAN
    pthread_attr_t attributes;
    pthread_getattr_np(pthread_self(), &attributes);
    pthread_attr_getstack(&attributes, &host.stack, &host.stack_bytes);
    pthread_attr_destroy(&attributes);
#endif
#ifdef MSDA_TSAN
    host.tsan_fiber = __tsan_get_current_fiber();
#endif
    return host;
}

MSDA_UNSEEN void switch_fiber(Fiber& from, Fiber& to) {
#ifdef MSDA_ASAN
    __sanitizer_start_switch_fiber(&from.asan_stack, to.stack, to.stack_bytes);
#endif
#ifdef MSDA_TSAN
    __tsan_switch_to_fiber(to.tsan_fiber, __tsan_switch_to_fiber_no_sync);
#endif
    msda_fiber_switch(&from.stack_pointer, to.stack_pointer);
#ifdef MSDA_ASAN
    __sanitizer_finish_switch_fiber(from.asan_stack, nullptr, nullptr);
#endif
}

MSDA_UNSEEN void begin_fiber() {
#ifdef MSDA_ASAN
    __sanitizer_finish_switch_fiber(nullptr, nullptr, nullptr);
#endif
}

MSDA_UNSEEN void take_over([[maybe_unused]] Fiber& fiber) {
#ifdef MSDA_TSAN
    void* self = __tsan_get_current_fiber();
    __tsan_switch_to_fiber(fiber.tsan_fiber, __tsan_switch_to_fiber_no_sync);
    __tsan_release(&fiber);
    __tsan_switch_to_fiber(self, __tsan_switch_to_fiber_no_sync);
    __tsan_acquire(&fiber);
#endif
}

Fibers::Fibers(int count, void (*entry)(void*), void* (*argument)(void*, int), void* context)
    : fibers_(static_cast<std::size_t>(count)) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    region_bytes_ = static_cast<std::size_t>(count) * (stack_bytes + page);
    void* region =
        mmap(nullptr, region_bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (region == MAP_FAILED) throw Error(Code::out_of_memory, "emulation: no memory for the stacks of a block");
    region_ = static_cast<char*>(region);
    for (int i = 0; i < count; i++) {
        char* guard = region_ + static_cast<std::size_t>(i) * (stack_bytes + page);
        mprotect(guard, page, PROT_NONE);
        Fiber& fiber = (*this)[i];
        fiber.stack = guard + page;
        fiber.stack_bytes = stack_bytes;
        fiber.stack_pointer = first_frame(fiber.stack, stack_bytes, entry, argument(context, i));
#ifdef MSDA_TSAN
        fiber.tsan_fiber = __tsan_create_fiber(0);
#endif
    }
}

Fibers::~Fibers() {
#ifdef MSDA_TSAN
    for (Fiber& fiber : fibers_) __tsan_destroy_fiber(fiber.tsan_fiber);
#endif
#ifdef MSDA_ASAN
    __asan_unpoison_memory_region(region_, region_bytes_);
#endif
    munmap(region_, region_bytes_);
}

}  // namespace msda::emulation
