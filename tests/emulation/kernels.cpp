#include "tests/emulation/kernels.hpp"

#include "msda/error.hpp"

namespace msda::test {

Emulator& emulator() {
    static Emulator shared;
    return shared;
}

emulation::Counts run_small(const SmallLaunch& launch, const void* in, std::size_t in_bytes, void* out,
                            std::size_t out_bytes) {
    Step step;
    step.kernel = launch.kernel;
    step.grid = {launch.blocks, 1, 1};
    step.threads = launch.threads;
    step.shared_bytes = launch.shared_bytes;
    step.arguments = {{Buffer::value}, {Buffer::output}};
    Plan plan;
    plan.steps = {step};
    Tensors tensors;
    tensors.value = in;
    tensors.output = out;
    const std::vector<emulation::Extent> extents = {
        {"in", static_cast<const char*>(in), in_bytes, false},
        {"out", static_cast<const char*>(out), out_bytes - launch.missing_bytes, true},
    };
    return emulator().run(plan, *emulator().compile(launch.source), tensors, extents, launch.settings);
}

std::string error_of(const SmallLaunch& launch) {
    // Apart, so that an access beyond one tensor is not one within the other.
    constexpr std::size_t count = 1024;
    constexpr std::size_t bytes = count * sizeof(int);
    std::vector<int> memory(5 * count, 1);
    const int* in = memory.data() + count;
    int* out = memory.data() + 3 * count;
    try {
        run_small(launch, in, bytes, out, bytes);
    } catch (const Error& error) {
        return error.what();
    }
    return "";
}

std::string kernel_source(const std::string& body) {
    return "#include \"arch.cuh\"\n"
           "extern \"C\" __global__ void __launch_bounds__(1024) kernel(const void* in_, void* out_) {\n"
           "    using namespace msda;\n"
           "    const int* in = static_cast<const int*>(in_);\n"
           "    int* out = static_cast<int*>(out_);\n"
           "    const int t = thread_index(), b = static_cast<int>(block_index());\n"
           "    int* shared = reinterpret_cast<int*>(shared_memory());\n"
           "    (void)in, (void)out, (void)t, (void)b, (void)shared;\n"
           "#line 1 \"body\"\n" +
           body + "\n}\nMSDA_ENTRY(kernel)\n";
}

}  // namespace msda::test
