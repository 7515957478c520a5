// Building modules: one build for many who ask, clear errors, nothing left behind.
#include <doctest/doctest.h>
#include <link.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "msda/error.hpp"
#include "tests/emulation/kernels.hpp"

using namespace msda;
using namespace msda::test;

namespace {

// The error of a call; a success fails the test.
template <class Call>
Error error_from(Call call) {
    try {
        call();
    } catch (const Error& error) {
        return error;
    }
    FAIL("expected an Error");
    return {Code::interrupted, ""};
}

}  // namespace

TEST_SUITE_BEGIN("emulation");

TEST_CASE("a compiler that is not there is named, with the variable") {
    const Error error = error_from([] { Emulator("no-such-compiler").compile(kernel_source("")); });
    CHECK(error.code() == Code::unsupported);
    CHECK(std::string(error.what()).find("MSDA_HOST_CXX") != std::string::npos);
    CHECK(std::string(error.what()).find("no-such-compiler") != std::string::npos);
}

TEST_CASE("a source that does not compile: the compiler's log") {
    const Error error = error_from([] { emulator().compile(kernel_source("this is no statement;")); });
    CHECK(error.code() == Code::compile_failed);
    CHECK(error.log().find("body:1") != std::string::npos);
    CHECK(error.log().find("error") != std::string::npos);
}

TEST_CASE("a kernel that the source does not have") {
    const auto module = emulator().compile(kernel_source(""));
    CHECK((module->kernel("kernel") != nullptr));
    CHECK(error_from([&] { module->kernel("other"); }).code() == Code::invalid_argument);
}

TEST_CASE("threads that ask for one source get one module") {
    const std::string source = kernel_source("store_global<4>(out, Raw<4>{{17}});");
    std::vector<std::shared_ptr<const EmulatedModule>> modules(4);
    {
        std::vector<std::jthread> threads;
        for (auto& module : modules) threads.emplace_back([&] { module = emulator().compile(source); });
    }
    for (const auto& module : modules) CHECK(module == modules.front());
    CHECK(emulator().compile(source) == modules.front());
    CHECK(emulator().compile(source, {"-DOTHER"}) != modules.front());
}

// Why: runtime/emulation/emulation.hpp, at `current`.
TEST_CASE("a module has no thread-local storage") {
    const auto module = emulator().compile(kernel_source("store_global<4>(out, Raw<4>{{18}});"));
    struct Seen {
        int modules = 0, with_storage = 0;
    } seen;
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void* data) {
            if (std::string(info->dlpi_name).find("msda-emulation-") == std::string::npos) return 0;
            static_cast<Seen*>(data)->modules++;
            for (int i = 0; i < info->dlpi_phnum; i++)
                if (info->dlpi_phdr[i].p_type == PT_TLS) static_cast<Seen*>(data)->with_storage++;
            return 0;
        },
        &seen);
    CHECK(seen.modules >= 1);
    CHECK(seen.with_storage == 0);
}

TEST_CASE("the private directory goes away with its content") {
    std::filesystem::path path;
    {
        const emulation::PrivateDirectory directory;
        path = directory.path();
        std::ofstream(path / "file") << "text";
        CHECK((std::filesystem::status(path).permissions() & std::filesystem::perms::mask) ==
              std::filesystem::perms::owner_all);
    }
    CHECK_FALSE(std::filesystem::exists(path));
}

TEST_SUITE_END();
