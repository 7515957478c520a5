#include "runtime/emulation/emulator.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <mutex>

#include "msda/error.hpp"
#include "runtime/emulation/block.hpp"
#include "runtime/emulation/sanitizers.hpp"
#include "runtime/once_map.hpp"
#include "runtime/parallel.hpp"

namespace msda {
namespace {

using emulation::Counts;
using emulation::Extent;
using emulation::Grid;
using emulation::Multiprocessor;

// Modules kept: more than the kernels of one model, few enough that a long test run does not fill the temporary
// directory.
constexpr std::size_t modules_kept = 64;

// The base address of a buffer; the workspace and gradients are written, the rest only read.
const void* address_of(const Tensors& tensors, const Plan& plan, Buffer buffer) {
    switch (buffer) {
        case Buffer::value:
            return tensors.value;
        case Buffer::locations:
            return tensors.locations;
        case Buffer::weights:
            return tensors.weights;
        case Buffer::references:
            return tensors.references;
        case Buffer::scales:
            return tensors.scales;
        case Buffer::output:
            return tensors.output;
        case Buffer::grad_output:
            return tensors.grad_output;
        case Buffer::grad_value:
            return tensors.grad_value;
        case Buffer::grad_locations:
            return tensors.grad_locations;
        case Buffer::grad_weights:
            return tensors.grad_weights;
        case Buffer::grad_references:
            return tensors.grad_references;
        case Buffer::workspace:
            return tensors.workspace;
        case Buffer::shape:
            return plan.shape.data();
    }
    return nullptr;
}

char* place(const Tensors& tensors, const Plan& plan, const Slot& slot) {
    auto* base = const_cast<char*>(static_cast<const char*>(address_of(tensors, plan, slot.buffer)));
    return base == nullptr ? nullptr : base + slot.offset;
}

// The values of a kernel's arguments, and their addresses as a launch takes them; the shape is passed by value, all
// else by address.
struct Arguments {
    std::vector<char*> values;
    std::vector<void*> addresses;

    Arguments(const Plan& plan, const Step& step, const Tensors& tensors) {
        for (const Slot& slot : step.arguments) values.push_back(place(tensors, plan, slot));
        for (std::size_t i = 0; i < values.size(); i++)
            addresses.push_back(step.arguments[i].buffer == Buffer::shape ? values[i] : static_cast<void*>(&values[i]));
    }
};

void fill_with_zero(const Plan& plan, const Step& step, const Tensors& tensors) {
    if (step.bytes == 0) return;
    char* target = place(tensors, plan, step.target);
    if (target == nullptr) throw Error(Code::invalid_argument, "emulation: a buffer that the plan zero-fills is null");
    std::memset(target, 0, step.bytes);
}

}  // namespace

EmulatedModule::EmulatedModule(const std::string& compiler, std::string_view source,
                               const std::vector<std::string>& flags) {
    const auto path = emulation::build_module(compiler, source, flags, directory_);
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
        const char* why = dlerror();
        throw Error(Code::compile_failed, fmt::format("emulation: the module built by {} does not load", compiler),
                    why != nullptr ? why : "");
    }
    using Connect = void (*)(emulation::Thread * (*)());
    reinterpret_cast<Connect>(dlsym(library_, "msda_emulated_connect"))(emulation::current_thread);
}

EmulatedModule::~EmulatedModule() { dlclose(library_); }

Grid::Entry EmulatedModule::kernel(const std::string& name) const {
    auto* entry = reinterpret_cast<Grid::Entry>(dlsym(library_, ("msda_emulated_" + name).c_str()));
    if (entry == nullptr)
        throw Error(Code::invalid_argument, fmt::format("emulation: the source has no kernel {}", name));
    return entry;
}

struct Emulator::State {
    std::string compiler;
    OnceMap<std::string, const EmulatedModule> modules{modules_kept};
    std::mutex mutex;
    std::vector<std::unique_ptr<Multiprocessor>> idle;

    std::unique_ptr<Multiprocessor> take() {
        const std::lock_guard lock(mutex);
        if (idle.empty()) return std::make_unique<Multiprocessor>();
        auto taken = std::move(idle.back());
        idle.pop_back();
        return taken;
    }
    void give_back(std::vector<std::unique_ptr<Multiprocessor>>& used) {
        const std::lock_guard lock(mutex);
        std::move(used.begin(), used.end(), std::back_inserter(idle));
    }

    // Blocks are dealt out in turn, so that neighbours run on different multiprocessors and ThreadSanitizer sees them
    // as unordered.
    Counts launch(const Grid& grid, int workers) {
        workers = static_cast<int>(std::min<std::uint32_t>(static_cast<std::uint32_t>(workers), grid.blocks));
        std::vector<std::unique_ptr<Multiprocessor>> used;
        used.reserve(static_cast<std::size_t>(workers));
        for (int i = 0; i < workers; i++) used.push_back(take());
        std::exception_ptr failure;
        try {
            parallel_for(workers, workers, 1, [&](std::int64_t begin, std::int64_t, int) {
                used[static_cast<std::size_t>(begin)]->run(grid, static_cast<std::uint32_t>(begin),
                                                           static_cast<std::uint32_t>(workers));
            });
        } catch (...) {
            failure = std::current_exception();
        }
        Counts counts;
        for (auto& multiprocessor : used) counts += multiprocessor->collect();
        give_back(used);
        if (failure) std::rethrow_exception(failure);
        return counts;
    }
};

Emulator::Emulator(std::string compiler) : state_(std::make_unique<State>()) { state_->compiler = std::move(compiler); }
Emulator::~Emulator() = default;

std::shared_ptr<const EmulatedModule> Emulator::compile(const std::string& source,
                                                        const std::vector<std::string>& flags) {
    std::string key = source;
    for (const std::string& flag : flags) key += '\0' + flag;
    return state_->modules.get(key, [&] {
        return std::make_shared<const EmulatedModule>(emulation::find_host_compiler(state_->compiler), source, flags);
    });
}

Counts Emulator::run(const Plan& plan, const EmulatedModule& module, const Tensors& tensors,
                     const std::vector<Extent>& extents, const EmulationSettings& settings) {
    int workers = thread_count(settings.workers);
    if (settings.workers == 0 && emulation::under_tsan) workers = std::max(workers, 3);
    Counts counts;
    for (const Step& step : plan.steps) {
        if (step.kind == Step::Kind::zero) {
            fill_with_zero(plan, step, tensors);
            continue;
        }
        if (step.grid[1] != 1 || step.grid[2] != 1)
            throw Error(Code::unsupported,
                        fmt::format("emulation: kernel {} has a grid of more than one dimension", step.kernel));
        Arguments arguments(plan, step, tensors);
        Grid grid;
        grid.name = step.kernel;
        grid.entry = module.kernel(step.kernel);
        grid.arguments = arguments.addresses.data();
        grid.blocks = step.grid[0];
        grid.threads = static_cast<int>(step.threads);
        grid.shared_bytes = step.shared_bytes;
        grid.poison = settings.poison;
        grid.order = settings.order;
        grid.extents = extents.empty() ? nullptr : &extents;
        grid.count = settings.count;
        counts += state_->launch(grid, workers);
    }
    return counts;
}

std::vector<Extent> emulation_extents(const Problem& p, const Plan& plan, const Tensors& tensors) {
    const Sizes size = sizes(p);
    std::vector<Extent> extents;
    const auto add = [&](const char* name, const void* begin, std::int64_t count, std::size_t bytes, bool writable) {
        if (begin != nullptr && count > 0)
            extents.push_back(
                {name, static_cast<const char*>(begin), static_cast<std::size_t>(count) * bytes, writable});
    };
    const std::size_t value = bytes_of(p.value), location = bytes_of(p.location), weight = bytes_of(p.weight),
                      output = bytes_of(p.output);
    add("value", tensors.value, size.value, value, false);
    add("locations", tensors.locations, size.locations, location, false);
    add("weights", tensors.weights, size.weights, weight, false);
    add("references", tensors.references, size.references, location, false);
    add("scales", tensors.scales, p.heads, sizeof(float), false);
    if (p.pass == Pass::forward) {
        add("output", tensors.output, size.output, output, true);
    } else {
        add("grad_output", tensors.grad_output, size.output, output, false);
        add("grad_value", tensors.grad_value, p.batch * p.pixels * p.heads * p.head_dim, value, true);
        add("grad_locations", tensors.grad_locations, size.locations, location, true);
        add("grad_weights", tensors.grad_weights, size.weights, weight, true);
        add("grad_references", tensors.grad_references, size.references, location, true);
    }
    add("workspace", tensors.workspace, static_cast<std::int64_t>(plan.workspace_bytes), 1, true);
    return extents;
}

}  // namespace msda
