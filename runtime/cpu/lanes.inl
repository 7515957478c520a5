// Vectors of channels in the instruction set of the including file: loads that widen, multiply-adds, sums, stores that
// round. Included inside a namespace of its own by kernels_*.cpp, with MSDA_VECTOR_BYTES set (and MSDA_CPU_AVX2 where
// AVX2, FMA and F16C are on).

typedef float FloatVector __attribute__((vector_size(MSDA_VECTOR_BYTES)));
typedef double DoubleVector __attribute__((vector_size(MSDA_VECTOR_BYTES)));
typedef std::int32_t IntVector __attribute__((vector_size(MSDA_VECTOR_BYTES)));
typedef std::uint16_t ShortVector __attribute__((vector_size(MSDA_VECTOR_BYTES / 2)));
typedef std::uint8_t ByteVector __attribute__((vector_size(MSDA_VECTOR_BYTES / 4)));

template <class C>
struct VectorOf {
    using type = FloatVector;
};
template <>
struct VectorOf<double> {
    using type = DoubleVector;
};
template <class C>
using Vector = typename VectorOf<C>::type;
template <class C>
constexpr std::int64_t lanes = MSDA_VECTOR_BYTES / sizeof(C);

template <class V>
inline V load_raw(const void* p) {
    V v;
    std::memcpy(&v, p, sizeof v);
    return v;
}

// The lanes of v where `mask` is all ones, of w where it is zero.
inline IntVector select(IntVector mask, IntVector v, IntVector w) { return (mask & v) | (~mask & w); }

inline FloatVector load(const float* p) { return load_raw<FloatVector>(p); }
inline DoubleVector load(const double* p) { return load_raw<DoubleVector>(p); }
inline FloatVector load(const bf16* p) {
    return (FloatVector)(__builtin_convertvector(load_raw<ShortVector>(p), IntVector) << 16);
}
#if defined(MSDA_CPU_AVX2)
inline FloatVector load(const f16* p) {
    return (FloatVector)_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p)));
}
#else
inline FloatVector load(const f16* p) {  // host::widen, lane by lane
    const IntVector bits = __builtin_convertvector(load_raw<ShortVector>(p), IntVector);
    const IntVector magnitude = bits & 0x7fff;
    const IntVector normal = (magnitude << 13) + 0x38000000;
    const FloatVector small = (FloatVector)(normal + 0x00800000) - 0x1p-14f;
    const IntVector quiet = (IntVector)(magnitude > 0x7c00) & 0x00400000;
    const IntVector finite = select((IntVector)(magnitude < 0x0400), (IntVector)small, normal);
    const IntVector all = select((IntVector)(magnitude >= 0x7c00), (normal + 0x38000000) | quiet, finite);
    return (FloatVector)(all | (bits & 0x8000) << 16);
}
#endif
#if defined(MSDA_CPU_AVX2)
inline FloatVector load(const e4m3* p) {  // the same bits as f16, whose exponent bias is larger by 8, are v / 256
    const __m128i bits = _mm_cvtepu8_epi16(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(p)));
    const __m128i magnitude = _mm_and_si128(bits, _mm_set1_epi16(0x7f));
    const __m128i nan = _mm_srli_epi16(_mm_cmpeq_epi16(magnitude, _mm_set1_epi16(0x7f)), 1);
    const __m128i sign = _mm_slli_epi16(_mm_and_si128(bits, _mm_set1_epi16(0x80)), 8);
    const __m128i half = _mm_or_si128(_mm_or_si128(_mm_slli_epi16(magnitude, 7), sign), nan);
    return (FloatVector)_mm256_cvtph_ps(half) * 256.0f;
}
#else
inline FloatVector load(const e4m3* p) {  // host::widen, lane by lane
    const IntVector bits = __builtin_convertvector(load_raw<ByteVector>(p), IntVector);
    const IntVector magnitude = bits & 0x7f;
    const FloatVector small = __builtin_convertvector(magnitude, FloatVector) * 0x1p-9f;
    const IntVector finite = select((IntVector)(magnitude < 8), (IntVector)small, (magnitude << 20) + 0x3c000000);
    const IntVector quiet = IntVector{} + 0x7fc00000;
    return (FloatVector)(select((IntVector)(magnitude == 0x7f), quiet, finite) | (bits & 0x80) << 24);
}
#endif

template <class C>
inline void store_vector(C* p, Vector<C> v) {
    std::memcpy(p, &v, sizeof v);
}

// a · b + c; fused where the instruction set has it.
#if defined(MSDA_CPU_AVX2)
inline FloatVector multiply_add(FloatVector a, FloatVector b, FloatVector c) {
    return (FloatVector)_mm256_fmadd_ps(a, b, c);
}
inline DoubleVector multiply_add(DoubleVector a, DoubleVector b, DoubleVector c) {
    return (DoubleVector)_mm256_fmadd_pd(a, b, c);
}
#else
template <class V>
inline V multiply_add(V a, V b, V c) {
    return a * b + c;
}
#endif

template <class C>
inline Vector<C> broadcast(C v) {
    return Vector<C>{} + v;
}

template <class V>
inline auto sum(V v) {
    auto total = v[0];
    for (std::size_t i = 1; i < sizeof(V) / sizeof(total); i++) total += v[i];
    return total;
}

// out[i] = in[i] widened or rounded.
template <class T, class C>
inline void widen_all(const T* in, std::int64_t count, C* out) {
    for (std::int64_t i = 0; i < count; i++) out[i] = static_cast<C>(host::widen(in[i]));
}
template <class T, class C>
inline void narrow_all(const C* in, std::int64_t count, T* out) {
    for (std::int64_t i = 0; i < count; i++) out[i] = host::narrow<T>(in[i]);
}
#if defined(MSDA_CPU_AVX2)
template <>
inline void narrow_all(const float* in, std::int64_t count, f16* out) {
    std::int64_t i = 0;
    for (; i + 8 <= count; i += 8)
        _mm_storeu_si128(reinterpret_cast<__m128i*>(out + i),
                         _mm256_cvtps_ph(_mm256_loadu_ps(in + i), _MM_FROUND_TO_NEAREST_INT));
    for (; i < count; i++) out[i] = host::narrow<f16>(in[i]);
}
#endif

// `count` elements from element `first` of an array of the given type, as C; and the way back.
template <class C>
inline void read_row(Type type, const void* array, std::int64_t first, std::int64_t count, C* out) {
    switch (type) {
        case Type::f16:
            return widen_all(static_cast<const f16*>(array) + first, count, out);
        case Type::bf16:
            return widen_all(static_cast<const bf16*>(array) + first, count, out);
        case Type::f64:
            return widen_all(static_cast<const double*>(array) + first, count, out);
        case Type::f32:
        case Type::e4m3:
            break;
    }
    widen_all(static_cast<const float*>(array) + first, count, out);
}
template <class C>
inline void write_row(Type type, void* array, std::int64_t first, std::int64_t count, const C* in) {
    switch (type) {
        case Type::f16:
            return narrow_all(in, count, static_cast<f16*>(array) + first);
        case Type::bf16:
            return narrow_all(in, count, static_cast<bf16*>(array) + first);
        case Type::f64:
            return narrow_all(in, count, static_cast<double*>(array) + first);
        case Type::f32:
        case Type::e4m3:
            break;
    }
    narrow_all(in, count, static_cast<float*>(array) + first);
}
