// The learner's file, compiled by the host compiler with the emulation and loaded: its functions and kernels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/emulation/host_compiler.hpp"
#include "runtime/emulation/multiprocessor.hpp"

namespace msda::lab {

// A launch of one kernel. The memory it may touch is in `memory`; empty: bounds are not checked.
struct Launch {
    std::string kernel;
    std::uint32_t blocks = 1;
    int threads = 32;              // a block
    std::size_t shared_bytes = 0;  // a block
    std::vector<emulation::Extent> memory;
    bool count = false;
    emulation::Order order = emulation::Order::ascending;
};

// Memory that a kernel may read, or read and write, under the name that messages use.
template <class T>
emulation::Extent reads(std::string name, const std::vector<T>& memory) {
    return {std::move(name), reinterpret_cast<const char*>(memory.data()), memory.size() * sizeof(T), false};
}
template <class T>
emulation::Extent writes(std::string name, std::vector<T>& memory) {
    return {std::move(name), reinterpret_cast<const char*>(memory.data()), memory.size() * sizeof(T), true};
}

class StudentModule {
  public:
    // Throws Error(compile_failed) with the compiler's messages as log.
    StudentModule(const std::string& source, const std::vector<std::string>& flags);
    ~StudentModule();
    StudentModule(const StudentModule&) = delete;
    StudentModule& operator=(const StudentModule&) = delete;

    // An extern "C" function. Throws Failed when the file does not export it any more.
    template <class Function>
    Function* function(const std::string& name) const {
        return reinterpret_cast<Function*>(symbol(name));
    }

    // Runs a kernel on this host thread, one block after another; `arguments` have exactly the types of the kernel's
    // parameters. Returns the counts asked for. Throws Failed when the kernel breaks a rule of the machine.
    template <class... Arguments>
    emulation::Counts launch(const Launch& launch, Arguments... arguments) const {
        void* addresses[] = {static_cast<void*>(&arguments)..., nullptr};
        return run(launch, addresses);
    }

  private:
    void* symbol(const std::string& name) const;
    emulation::Counts run(const Launch& launch, void** arguments) const;

    emulation::PrivateDirectory directory_;
    void* library_ = nullptr;
};

}  // namespace msda::lab
