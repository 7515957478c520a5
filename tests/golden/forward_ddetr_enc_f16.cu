// Emitted by msda-jit. The kernels are in the included files.
#include "forward.cuh"
struct Traits {
    using value_t = msda::f16;
    using location_t = msda::f32;
    using weight_t = msda::f16;
    using output_t = msda::f16;
    using acc_t = float;
    static constexpr int heads = 8;
    static constexpr int head_dim = 32;
    static constexpr int levels = 4;
    static constexpr int points = 16;
    static constexpr int sampling = 0;
    static constexpr int alignment = 16;
    static constexpr bool wide = false;
    static constexpr bool scaled = false;
    static constexpr int tile_width = 8;
    static constexpr int tile_height = 4;
    static constexpr int block_heads = 2;
    static constexpr int lanes = 4;
    static constexpr int vector = 16;
    static constexpr int chunks = 1;
    static constexpr int slices = 1;
    static constexpr int split = 1;
    static constexpr int staging = 0;
    static constexpr int unroll = 4;
    static MSDA_DEVICE constexpr int level_of(int p) { return p < 4 ? 0 : p < 8 ? 1 : p < 12 ? 2 : 3; }
    static MSDA_DEVICE constexpr int first_point(int l) { return l == 0 ? 0 : l == 1 ? 4 : l == 2 ? 8 : l == 3 ? 12 : 16; }
    static MSDA_DEVICE constexpr int points_of(int l) { return 4; }
};
struct Shape {
    MSDA_DEVICE constexpr msda::i64 stride_image() const { return 5689088; }
    MSDA_DEVICE constexpr msda::i64 stride_pixel() const { return 256; }
    MSDA_DEVICE constexpr msda::i64 stride_head() const { return 32; }
    MSDA_DEVICE constexpr int batch() const { return 2; }
    MSDA_DEVICE constexpr int queries() const { return 22223; }
    MSDA_DEVICE constexpr int pixels() const { return 22223; }
    MSDA_DEVICE constexpr int tiles() const { return 722; }
    MSDA_DEVICE constexpr int height(int l) const { return l == 0 ? 100 : l == 1 ? 50 : l == 2 ? 25 : 13; }
    MSDA_DEVICE constexpr int width(int l) const { return l == 0 ? 167 : l == 1 ? 84 : l == 2 ? 42 : 21; }
    MSDA_DEVICE constexpr int start(int l) const { return l == 0 ? 0 : l == 1 ? 16700 : l == 2 ? 20900 : 21950; }
    MSDA_DEVICE constexpr int tile_first(int l) const { return l == 0 ? 0 : l == 1 ? 525 : l == 2 ? 668 : 710; }
    MSDA_DEVICE constexpr int tiles_across(int l) const { return l == 0 ? 21 : l == 1 ? 11 : l == 2 ? 6 : 3; }
};
extern "C" __global__ void __launch_bounds__(256, 4) msda_forward(const void* a0, const void* a1, const void* a2, const float* a3, void* a4) {
    constexpr Shape shape{};
    msda::forward<Traits>(shape, a0, a1, a2, a3, a4);
}
MSDA_ENTRY(msda_forward)
