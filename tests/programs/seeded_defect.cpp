// Runs an emulated kernel that has one defect (or "none"), so that a test can see ThreadSanitizer report it from
// outside. Usage: msda_test_seeded_defect NAME. Exit status: 0 it ran, 1 the engine refused it, 2 wrong usage; 66 is
// ThreadSanitizer's own.
#include <cstdio>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "generator/emit.hpp"
#include "msda/error.hpp"
#include "runtime/emulation/emulator.hpp"

using namespace msda;

namespace {

// A kernel of 64 threads a block with the given body, on 4 blocks.
void run_body(const std::string& body) {
    const std::string source =
        "#include \"arch.cuh\"\n"
        "extern \"C\" __global__ void __launch_bounds__(64) kernel(void* out_) {\n"
        "    using namespace msda;\n"
        "    const int t = thread_index(), b = static_cast<int>(block_index());\n"
        "    int* out = static_cast<int*>(out_);\n"
        "    int* shared = reinterpret_cast<int*>(shared_memory());\n"
        "    (void)t, (void)b, (void)out, (void)shared;\n    " +
        body + "\n}\nMSDA_ENTRY(kernel)\n";
    Step step;
    step.kernel = "kernel";
    step.grid = {4, 1, 1};
    step.threads = 64;
    step.shared_bytes = 256;
    step.arguments = {{Buffer::output}};
    Plan plan;
    plan.steps = {step};
    std::vector<int> out(256);
    Tensors tensors;
    tensors.output = out.data();
    Emulator emulator;
    emulator.run(plan, *emulator.compile(source), tensors, {});
}

// A real kernel under the first config that `wanted` accepts, with `defect` put before its source.
void run_kernel(Pass pass, const std::function<bool(const Config&)>& wanted, const std::string& defect) {
    Problem problem;
    problem.pass = pass;
    problem.queries = 64;
    problem.heads = 2;
    problem.levels = {{8, 8}, {4, 4}};
    problem = normalise(problem);
    for (const Config& config : space(problem, Silicon{})) {
        if (!wanted(config)) continue;
        const Plan steps = plan(problem, config);
        const Sizes size = sizes(problem);
        const auto floats = [](std::int64_t count, float step) {
            std::vector<float> all(static_cast<std::size_t>(count));
            for (std::size_t i = 0; i < all.size(); i++) all[i] = step * static_cast<float>(i * 37 % 101);
            return all;
        };
        const std::vector<float> value = floats(size.value, 0.1F), locations = floats(size.locations, 0.01F);
        const std::vector<float> weights = floats(size.weights, 0.001F), grad_output = floats(size.output, 0.1F);
        std::vector<float> output = floats(size.output, 0), grad_value = floats(size.value, 0);
        std::vector<float> grad_locations = floats(size.locations, 0), grad_weights = floats(size.weights, 0);
        std::vector<float> workspace(steps.workspace_bytes / sizeof(float) + 1);
        Tensors tensors;
        tensors.value = value.data();
        tensors.locations = locations.data();
        tensors.weights = weights.data();
        tensors.output = output.data();
        tensors.grad_output = grad_output.data();
        tensors.grad_value = grad_value.data();
        tensors.grad_locations = grad_locations.data();
        tensors.grad_weights = grad_weights.data();
        tensors.workspace = workspace.data();
        Emulator emulator;
        emulator.run(steps, *emulator.compile(defect + emit(problem, config)), tensors,
                     emulation_extents(problem, steps, tensors));
        return;
    }
    throw Error(Code::invalid_argument, "no config of the space is wanted");
}

bool staged(const Config& c) { return c.staging == 1; }
bool sorted(const Config& c) { return c.scatter == scatter_sorted; }
bool direct(const Config& c) { return c.scatter == scatter_direct; }
bool owned(const Config& c) { return c.scatter == scatter_owned; }

const std::map<std::string, std::function<void()>> defects = {
    {"none",
     [] {
         run_body("store_shared(shared + t, t); block_barrier(); out[b * 64 + t] = load_shared(shared + 63 - t);");
         run_body("store_shared(shared + t, t); warp_barrier(); out[b * 64 + t] = load_shared(shared + (t ^ 1));");
         run_body("shared_add(shared, 1); red_f32(reinterpret_cast<float*>(out), 1.0f);");
         run_kernel(Pass::forward, staged, "");
         run_kernel(Pass::backward, sorted, "");
         run_kernel(Pass::backward, direct, "");
         run_kernel(Pass::backward, owned, "");
     }},
    {"block-barrier-removed",
     [] { run_body("store_shared(shared + t, t); out[b * 64 + t] = load_shared(shared + 63 - t);"); }},
    {"warp-barrier-removed",
     [] { run_body("store_shared(shared + t, t); out[b * 64 + t] = load_shared(shared + (t ^ 1));"); }},
    {"second-barrier-removed",
     [] {
         run_body(
             "for (int i = 0; i < 2; i++) { store_shared(shared + t, i); block_barrier(); out[b * 64 + t] = "
             "load_shared(shared + 63 - t); }");
     }},
    {"shuffle-taken-for-a-barrier",
     [] {
         run_body("store_shared(shared + t, t); shuffle_xor(t, 1); out[b * 64 + t] = load_shared(shared + (t ^ 1));");
     }},
    {"plain-add-in-shared-memory", [] { run_body("store_shared(shared, load_shared(shared) + 1);"); }},
    {"plain-add-beside-atomics", [] { run_body("if (t == 40) store_shared(shared, 1); else shared_add(shared, 1);"); }},
    {"blocks-write-one-element", [] { run_body("if (t == 0) store_global<4>(out, Raw<4>{{static_cast<u32>(b)}});"); }},
    {"store-beside-reds",
     [] {
         run_body(
             "if (b == 1) store_global<4>(out + t, Raw<4>{}); else red_f32(reinterpret_cast<float*>(out) + t, 1.0f);");
     }},
    {"staged-forward-without-warp-barrier",
     [] { run_kernel(Pass::forward, staged, "#define warp_barrier() ((void)0)\n"); }},
    {"sorted-backward-without-barriers",
     [] { run_kernel(Pass::backward, sorted, "#define block_barrier() ((void)0)\n"); }},
};

}  // namespace

int main(int argc, char** argv) {
    const auto defect = argc == 2 ? defects.find(argv[1]) : defects.end();
    if (defect == defects.end()) {
        std::fprintf(stderr, "usage: %s NAME, with NAME one of:\n", argv[0]);
        for (const auto& [name, run] : defects) std::fprintf(stderr, "%s\n", name.c_str());
        return 2;
    }
    try {
        defect->second();
    } catch (const Error& error) {
        std::fprintf(stderr, "%s\n%s", error.what(), error.log().c_str());
        return 1;
    }
    return 0;
}
