// Runs one kernel of a learner's file under ThreadSanitizer, which this program and the kernel are built with; started
// by msda-lab. Usage: msda-lab-race SOURCE KERNEL BLOCKS THREADS SHARED_BYTES ARGUMENT... [-- FLAG...], where ARGUMENT
// is i:VALUE (an int), s:HEX (a struct's bytes), n:COUNT:MODULUS (ints 0 … MODULUS − 1), f:COUNT (floats in 0 … 1) or
// z:COUNT (zeros). Exit status: 0 it ran, 66 ThreadSanitizer found a race, 1 anything else, with a sentence on stderr.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "msda/error.hpp"
#include "runtime/emulation/block.hpp"
#include "runtime/emulation/host_compiler.hpp"
#include "runtime/emulation/multiprocessor.hpp"

extern "C" const char* __tsan_default_options() { return "halt_on_error=1:exitcode=66"; }

namespace {

using namespace msda;
using emulation::Grid;

// The value of one kernel argument, or the memory that it points to.
class Argument {
  public:
    explicit Argument(const std::string& text) {
        const std::string rest = text.substr(2);
        const auto count = static_cast<std::size_t>(std::strtoull(rest.c_str(), nullptr, 10));
        switch (text[0]) {
            case 'i':
                put(std::atoi(rest.c_str()));
                break;
            case 's':
                for (std::size_t i = 0; i + 1 < rest.size(); i += 2)
                    bytes_.push_back(static_cast<char>(std::strtoul(rest.substr(i, 2).c_str(), nullptr, 16)));
                break;
            case 'n': {
                const int modulus = std::atoi(rest.substr(rest.find(':') + 1).c_str());
                for (std::size_t i = 0; i < count; i++) memory_.push_back(static_cast<int>(i * 7 % 31) % modulus);
                point_to_memory();
                break;
            }
            case 'f':
                for (std::size_t i = 0; i < count; i++) {
                    const float v = static_cast<float>(i * 37 % 101) / 101;
                    memory_.push_back(0);
                    std::memcpy(&memory_.back(), &v, sizeof v);
                }
                point_to_memory();
                break;
            case 'z':
                memory_.resize(count);
                point_to_memory();
                break;
            default:
                throw Error(Code::invalid_argument, "unknown argument " + text);
        }
    }
    void* address() { return bytes_.data(); }

  private:
    template <class T>
    void put(T v) {
        bytes_.resize(sizeof v);
        std::memcpy(bytes_.data(), &v, sizeof v);
    }
    void point_to_memory() {
        memory_.resize(memory_.size() + 4);
        // 16-byte aligned, for vector accesses.
        auto at = reinterpret_cast<std::uintptr_t>(memory_.data());
        const std::size_t skip = (16 - at % 16) % 16 / sizeof(int);
        std::memmove(memory_.data() + skip, memory_.data(), (memory_.size() - 4) * sizeof(int));
        put(memory_.data() + skip);
    }

    std::vector<char> bytes_;
    std::vector<int> memory_;
};

// Blocks are dealt out to three host threads, so that neighbouring blocks are unordered.
void launch(const Grid& grid) {
    constexpr std::uint32_t workers = 3;
    std::vector<std::unique_ptr<emulation::Multiprocessor>> machines;
    std::vector<std::string> errors(workers);
    std::vector<std::thread> threads;
    for (std::uint32_t i = 0; i < workers; i++) machines.push_back(std::make_unique<emulation::Multiprocessor>());
    for (std::uint32_t i = 0; i < workers; i++)
        threads.emplace_back([&, i] {
            try {
                machines[i]->run(grid, i, workers);
            } catch (const std::exception& error) {
                errors[i] = error.what();
            }
        });
    for (std::thread& thread : threads) thread.join();
    for (const auto& machine : machines) machine->collect();
    for (const std::string& error : errors)
        if (!error.empty()) throw Error(Code::driver_failed, error);
}

int run(const std::vector<std::string>& words) {
    std::ifstream in(words.at(0), std::ios::binary);
    const std::string source{std::istreambuf_iterator<char>(in), {}};
    std::vector<std::unique_ptr<Argument>> arguments;
    std::size_t next = 5;
    for (; next < words.size() && words[next] != "--"; next++)
        arguments.push_back(std::make_unique<Argument>(words[next]));
    const std::vector<std::string> flags(words.begin() + static_cast<std::ptrdiff_t>(std::min(next + 1, words.size())),
                                         words.end());
    const emulation::PrivateDirectory directory;
    const auto path = emulation::build_module(emulation::find_host_compiler(""), source, flags, directory);
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) throw Error(Code::compile_failed, "the module does not load");
    std::vector<void*> addresses;
    for (const auto& argument : arguments) addresses.push_back(argument->address());
    Grid grid;
    grid.name = words.at(1);
    grid.entry = reinterpret_cast<Grid::Entry>(dlsym(library, ("msda_emulated_" + grid.name).c_str()));
    using Connect = void (*)(emulation::Thread * (*)());
    auto* connect = reinterpret_cast<Connect>(dlsym(library, "msda_emulated_connect"));
    if (connect == nullptr) throw Error(Code::invalid_argument, "the module is none of the emulation's");
    connect(emulation::current_thread);
    if (grid.entry == nullptr) throw Error(Code::invalid_argument, "no kernel " + grid.name);
    grid.arguments = addresses.data();
    grid.blocks = static_cast<std::uint32_t>(std::atoi(words.at(2).c_str()));
    grid.threads = std::atoi(words.at(3).c_str());
    grid.shared_bytes = static_cast<std::size_t>(std::atoi(words.at(4).c_str()));
    if (auto* sizes = static_cast<unsigned*>(dlsym(library, "lab_launch")); sizes != nullptr) {
        sizes[0] = static_cast<unsigned>(grid.threads);
        sizes[1] = grid.blocks;
    }
    launch(grid);
    return 0;
}

}  // namespace

int main(int argc, char** argv) {
    try {
        return run({argv + 1, argv + argc});
    } catch (const msda::Error& error) {
        std::fprintf(stderr, "%s\n%s", error.what(), error.log().c_str());
    } catch (const std::exception& error) {
        std::fprintf(stderr, "%s\n", error.what());
    }
    return 1;
}
