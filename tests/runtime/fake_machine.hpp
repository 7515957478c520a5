// A runtime on a fake GPU with a fake compiler and a cache of its own: what the tests of the GPU path start from.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "runtime/runtime_state.hpp"
#include "tests/fakes/fake_driver.hpp"
#include "tests/fakes/fake_nvrtc.hpp"
#include "tests/fakes/temporary_directory.hpp"

namespace msda::fakes {

struct FakeMachine {
    explicit FakeMachine(int devices = 1) : driver(std::vector<FakeDevice>(static_cast<std::size_t>(devices))) {
        start();
    }
    // Options with the cache in `directory` and warnings collected.
    Options options() {
        Options options;
        options.cache_directory = directory / "cache";
        options.packs = packs;
        options.warn = [this](const std::string& message) { warnings.push_back(message); };
        return options;
    }
    // Destroys the runtime and makes another one: what a new process would see.
    void start() {
        runtime.reset();
        runtime = std::make_unique<Runtime>(options());
        runtime->state().use_driver(driver.started());
        runtime->state().use_nvrtc(nvrtc.library());
    }

    TemporaryDirectory directory;
    FakeDriver driver;
    FakeNvrtc nvrtc;
    std::vector<std::string> warnings;
    std::string packs;  // from the next start() on
    std::unique_ptr<Runtime> runtime;
};

inline Problem small_problem(std::int64_t queries = 5) {
    Problem problem;
    problem.queries = queries;
    problem.heads = 2;
    problem.levels = {{4, 6}, {2, 3}};
    return problem;
}

// Memory that a fake launch never reads, aligned to 256 bytes.
inline Tensors some_tensors() {
    alignas(256) static char memory[12][256];
    Tensors tensors;
    tensors.value = memory[0];
    tensors.locations = memory[1];
    tensors.weights = memory[2];
    tensors.references = memory[3];
    tensors.scales = memory[4];
    tensors.output = memory[5];
    tensors.grad_output = memory[6];
    tensors.grad_value = memory[7];
    tensors.grad_locations = memory[8];
    tensors.grad_weights = memory[9];
    tensors.grad_references = memory[10];
    tensors.workspace = memory[11];
    return tensors;
}

// The code and sentence of the Error that a call throws; Code{} when it throws none.
template <class Call>
std::pair<Code, std::string> error_of(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return {error.code(), error.what()};
    }
    return {Code{}, ""};
}

}  // namespace msda::fakes
