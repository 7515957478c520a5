// The NVRTC libraries that these tests compile with, and what they compile: emitted kernels, two at a time.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "msda/config.hpp"
#include "msda/problem.hpp"
#include "runtime/compiler.hpp"
#include "runtime/nvrtc_search.hpp"

namespace msda::test {

// Each library that MSDA_TEST_NVRTC names (separated by ':'), else the one that the library itself would take; empty
// where there is none, and then the tests skip. A named library that cannot be opened fails the test.
const std::vector<std::shared_ptr<const NvrtcLibrary>>& compilers();

// One kernel form: problem and config, valid on `silicon`.
struct Form {
    std::string name;
    Problem problem;
    Config config;
    Silicon silicon;
};

// A form compiled by one library for the form's capability.
struct Compiled {
    const Form* form = nullptr;
    std::string compiler;  // "12.9"
    Inspection code;
    std::string error;  // with the log; empty when it compiled
};

struct CompileJob {
    std::shared_ptr<const NvrtcLibrary> compiler;
    Form form;
};

// Calls work(i) for each i below `count`, in two threads.
void in_two_threads(std::size_t count, const std::function<void(std::size_t)>& work);

// Compiles all jobs in two threads, with an empty include path, in the order given.
std::vector<Compiled> compile_all(const std::vector<CompileJob>& jobs);

// The forms of tests that run on every architecture: forward, and the backward's direct, sorted and owned scatter
// (once and summed), each type and accumulator, where why_not allows them there. Small levels, exact and family.
std::vector<Form> forms(int capability);

// What the table of a GPU generation says, enough for the heuristic to decide.
Silicon silicon_for(int capability);

}  // namespace msda::test
