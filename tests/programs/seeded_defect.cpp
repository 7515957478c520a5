// Runs an emulated kernel that has one defect (or "none"), so that a test can see ThreadSanitizer report it from
// outside. Usage: msda_test_seeded_defect NAME. Exit status: 0 it ran, 1 the engine refused it, 2 wrong usage; 66 is
// ThreadSanitizer's own.
#include <cstddef>
#include <cstdio>
#include <cstring>
#include <functional>
#include <map>
#include <sstream>
#include <string>
#include <string_view>
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

// Numbers of a tensor, all different within a row.
std::vector<std::byte> numbers(Type type, std::int64_t count, float step) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(count) * bytes_of(type));
    for (std::int64_t i = 0; i < count; i++) {
        const auto k = static_cast<std::uint16_t>(i * 37 % 101);
        const float wide = step * static_cast<float>(k);
        const auto narrow = static_cast<std::uint16_t>(0x2c00 + k);  // f16 from 0.06 on
        std::byte* at = bytes.data() + static_cast<std::size_t>(i) * bytes_of(type);
        type == Type::f32 ? std::memcpy(at, &wide, 4) : std::memcpy(at, &narrow, 2);
    }
    return bytes;
}

// A real kernel with `defect` put before its source.
void run_kernel(const Problem& p, const Config& config, const std::string& defect) {
    const Plan steps = plan(p, config);
    const Sizes size = sizes(p);
    const auto value = numbers(p.value, size.value, 0.1F), locations = numbers(p.location, size.locations, 0.01F);
    const auto weights = numbers(p.weight, size.weights, 0.001F), grad_output = numbers(p.output, size.output, 0.1F);
    auto output = numbers(p.output, size.output, 0), grad_value = numbers(p.value, size.value, 0);
    auto grad_locations = numbers(p.location, size.locations, 0), grad_weights = numbers(p.weight, size.weights, 0);
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
    EmulationSettings settings;
    settings.poison = 0;  // what is read too early is harmless, so that the run lasts until the race is seen
    emulator.run(steps, *emulator.compile(defect + emit(p, config)), tensors, emulation_extents(p, steps, tensors),
                 settings);
}

// Two levels, the queries in more than one block.
Problem small_problem(Pass pass, Type value) {
    Problem problem;
    problem.pass = pass;
    problem.queries = 64;
    problem.heads = 2;
    problem.levels = {{8, 8}, {4, 4}};
    problem.value = value;
    return normalise(problem);
}

// The same under the first config that `wanted` accepts.
void run_kernel(Pass pass, const std::function<bool(const Config&)>& wanted, const std::string& defect) {
    const Problem problem = small_problem(pass, Type::f32);
    for (const Config& config : space(problem, Silicon{}))
        if (wanted(config)) return run_kernel(problem, config, defect);
    throw Error(Code::invalid_argument, "no config of the space is wanted");
}

bool staged(const Config& c) { return c.staging == 1; }
bool sorted(const Config& c) { return c.scatter == scatter_sorted; }
bool direct(const Config& c) { return c.scatter == scatter_direct; }
bool owned(const Config& c) { return c.scatter == scatter_owned; }

// The dense form with four threads a query and boxes of several chunks, which use every barrier that it has.
void run_dense(const std::string& defect) {
    Config config;
    config.scatter = scatter_dense;
    config.tile_width = 16;
    config.threads = 64;
    config.cells = 16;
    const Problem problem = small_problem(Pass::backward, Type::f16);
    if (const std::string why = why_not(problem, config, Silicon{}); !why.empty())
        throw Error(Code::invalid_argument, why);
    run_kernel(problem, config, defect);
}

// The lines of a template on which a barrier stands.
std::vector<int> barrier_lines(std::string_view file) {
    std::vector<int> lines;
    for (const TemplateFile& known : template_files()) {
        if (known.name != file) continue;
        std::istringstream text{std::string(known.text)};
        std::string line;
        for (int number = 1; std::getline(text, line); number++)
            if (line.find("_barrier();") != std::string::npos) lines.push_back(number);
    }
    return lines;
}

// Makes the barrier on that line of a template do nothing.
std::string without_barrier(std::string_view file, int line) {
    std::string text = "static bool removed(const char* file, int line) { return line == " + std::to_string(line) +
                       " && __builtin_strstr(file, \"/" + std::string(file) + "\") != nullptr; }\n";
    for (const char* name : {"block_barrier", "warp_barrier"})
        text +=
            "#define " + std::string(name) + "() (removed(__FILE__, __LINE__) ? (void)0 : ::msda::" + name + "())\n";
    return text;
}

using Defects = std::map<std::string, std::function<void()>>;

const Defects fixed_defects = {
    {"none",
     [] {
         run_body("store_shared(shared + t, t); block_barrier(); out[b * 64 + t] = load_shared(shared + 63 - t);");
         run_body("store_shared(shared + t, t); warp_barrier(); out[b * 64 + t] = load_shared(shared + (t ^ 1));");
         run_body("shared_add(shared, 1); red_f32(reinterpret_cast<float*>(out), 1.0f);");
         run_kernel(Pass::forward, staged, "");
         run_kernel(Pass::backward, sorted, "");
         run_kernel(Pass::backward, direct, "");
         run_kernel(Pass::backward, owned, "");
         run_dense("");
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

// Those above, and one for each barrier of the dense form; of those in what it inherits the first, for right after the
// last another follows.
Defects all_defects() {
    Defects all = fixed_defects;
    for (const std::string_view file : {"tile_points.cuh", "backward_dense.cuh"}) {
        std::vector<int> lines = barrier_lines(file);
        if (file == "tile_points.cuh") lines.resize(1);
        for (std::size_t i = 0; i < lines.size(); i++)
            all.emplace("dense-backward-without-barrier-" + std::to_string(i + 1) + "-of-" + std::string(file),
                        [file, line = lines[i]] { run_dense(without_barrier(file, line)); });
    }
    return all;
}

}  // namespace

int main(int argc, char** argv) {
    const Defects defects = all_defects();
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
