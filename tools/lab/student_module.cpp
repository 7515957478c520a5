#include "tools/lab/student_module.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include "msda/error.hpp"
#include "runtime/emulation/block.hpp"
#include "tools/lab/checks.hpp"

namespace msda::lab {

StudentModule::StudentModule(const std::string& source, const std::vector<std::string>& flags) {
    const auto path = emulation::build_module(emulation::find_host_compiler(""), source, flags, directory_);
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library_ == nullptr) {
        const char* why = dlerror();
        throw Error(Code::compile_failed, "the compiled file does not load", why != nullptr ? why : "");
    }
}

StudentModule::~StudentModule() {
    if (library_ != nullptr) dlclose(library_);
}

void* StudentModule::symbol(const std::string& name) const {
    void* found = dlsym(library_, name.c_str());
    if (found == nullptr)
        throw Failed(fmt::format("the file has no function {} any more; its name and parameters must stay", name));
    return found;
}

emulation::Counts StudentModule::run(const Launch& launch, void** arguments) const {
    emulation::Grid grid;
    grid.name = launch.kernel;
    grid.entry = reinterpret_cast<emulation::Grid::Entry>(symbol("msda_emulated_" + launch.kernel));
    using Connect = void (*)(emulation::Thread * (*)());
    reinterpret_cast<Connect>(symbol("msda_emulated_connect"))(emulation::current_thread);
    grid.arguments = arguments;
    grid.blocks = launch.blocks;
    grid.threads = launch.threads;
    grid.shared_bytes = launch.shared_bytes;
    grid.order = launch.order;
    grid.extents = launch.memory.empty() ? nullptr : &launch.memory;
    grid.count = launch.count;
    if (void* sizes = dlsym(library_, "lab_launch");
        sizes != nullptr) {  // blockDim.x and gridDim.x of labs/common/lab.cuh
        static_cast<unsigned*>(sizes)[0] = static_cast<unsigned>(launch.threads);
        static_cast<unsigned*>(sizes)[1] = launch.blocks;
    }
    try {
        emulation::Multiprocessor machine;
        machine.run(grid, 0, 1);
        return machine.collect();
    } catch (const Error& error) {
        throw Failed(error.what());
    }
}

}  // namespace msda::lab
