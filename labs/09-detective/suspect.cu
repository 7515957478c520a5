// The suspect: additions as a typical library writes them. Which of these does the hardware do in one piece, and which are
// a loop that reads, adds and tries to swap until nobody came in between?

extern "C" __global__ void add_float(float* p, float v) {
    asm volatile("red.global.add.f32 [%0], %1;" ::"l"(p), "f"(v) : "memory");
}

extern "C" __global__ void add_float_and_look(float* p, float v, float* before) { *before = atomicAdd(p, v); }

extern "C" __global__ void add_double(double* p, double v) {
#if __CUDA_ARCH__ >= 600
    asm volatile("red.global.add.f64 [%0], %1;" ::"l"(p), "d"(v) : "memory");
#else
    auto* word = reinterpret_cast<unsigned long long*>(p);
    unsigned long long seen = *word, wanted;
    do {
        wanted = seen;
        seen = atomicCAS(word, wanted, __double_as_longlong(v + __longlong_as_double(wanted)));
    } while (seen != wanted);
#endif
}

// Two f16 in one word.
extern "C" __global__ void add_half_pair(unsigned* p, unsigned v) {
#if __CUDA_ARCH__ >= 600
    asm volatile("red.global.add.noftz.f16x2 [%0], %1;" ::"l"(p), "r"(v) : "memory");
#else
    unsigned seen = *p, wanted;
    do {
        wanted = seen;
        unsigned sum;
        asm("add.f16x2 %0, %1, %2;" : "=r"(sum) : "r"(wanted), "r"(v));
        seen = atomicCAS(p, wanted, sum);
    } while (seen != wanted);
#endif
}

// Two bf16 in one word.
extern "C" __global__ void add_bfloat_pair(unsigned* p, unsigned v) {
#if __CUDA_ARCH__ >= 900
    asm volatile("red.global.add.noftz.bf16x2 [%0], %1;" ::"l"(p), "r"(v) : "memory");
#else
    unsigned seen = *p, wanted;
    do {
        wanted = seen;
        const float low = __uint_as_float(wanted << 16) + __uint_as_float(v << 16);
        const float high = __uint_as_float(wanted & 0xffff0000u) + __uint_as_float(v & 0xffff0000u);
        seen = atomicCAS(p, wanted, __float_as_uint(low) >> 16 | (__float_as_uint(high) & 0xffff0000u));
    } while (seen != wanted);
#endif
}

extern "C" __global__ void largest_float(float* p, float v) {
    auto* word = reinterpret_cast<unsigned*>(p);
    unsigned seen = *word, wanted;
    do {
        wanted = seen;
        if (__uint_as_float(wanted) >= v) return;
        seen = atomicCAS(word, wanted, __float_as_uint(v));
    } while (seen != wanted);
}
