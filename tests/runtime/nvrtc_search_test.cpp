#include "runtime/nvrtc_search.hpp"

#include <dlfcn.h>
#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include "msda/error.hpp"
#include "tests/fakes/fake_nvrtc.hpp"
#include "tests/fakes/temporary_directory.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

// A machine that exists only here: libraries by path with their version, directories, variables, what is loaded.
struct Machine {
    std::map<std::string, int> libraries;  // path (or a name that the linker resolves): version
    std::map<std::string, std::string> variables;
    std::vector<std::string> mapped;
    std::vector<std::string> opened;
    std::string own_file;  // what this library came from
    FakeNvrtc nvrtc;
    std::shared_ptr<const Nvrtc> table = nvrtc.table();

    LibraryLoader loader() {
        LibraryLoader loader;
        loader.open = [this](const std::string& path, bool only_loaded, std::string& error) -> std::shared_ptr<void> {
            const bool loaded = std::find(mapped.begin(), mapped.end(), path) != mapped.end();
            const auto found = libraries.find(path);
            if (found == libraries.end() || (only_loaded && !loaded)) {
                error = "cannot open shared object file";
                return nullptr;
            }
            opened.push_back(path);
            return {const_cast<int*>(&found->second), [](void*) {}};
        };
        loader.symbol = [this](void* library, const char* name) -> void* {
            if (*static_cast<int*>(library) < 0) return nullptr;  // not NVRTC
#define MSDA_SYMBOL(member, symbol) \
    if (std::string_view(name) == #symbol) return reinterpret_cast<void*>(symbols(library).member);
            MSDA_NVRTC_FUNCTIONS(MSDA_SYMBOL)
#undef MSDA_SYMBOL
            return nullptr;
        };
        loader.file_of = [this](const void* address) {
            return address == reinterpret_cast<const void*>(&why_not_usable) ? own_file : std::string();
        };
        loader.mapped_files = [this] { return mapped; };
        loader.environment = [this](const char* name) { return variables[name]; };
        return loader;
    }

    // The functions of a library: version() differs by library, so that opening another one shows.
    Nvrtc symbols(void* library) {
        static int current = 0;
        Nvrtc functions = *table;
        current = *static_cast<int*>(library);
        functions.version = [](int* major, int* minor) {
            *major = current / 1000;
            *minor = current % 1000 / 10;
            return NVRTC_SUCCESS;
        };
        return functions;
    }

    FileSystem files() {
        SystemCalls calls = SystemCalls::real();
        calls.list = [this](const char* path, std::vector<std::string>* names) {
            const std::string prefix = std::string(path) + "/";
            for (const auto& [library, version] : libraries)
                if (library.starts_with(prefix))
                    names->push_back(library.substr(prefix.size(), library.find('/', prefix.size()) - prefix.size()));
            errno = ENOENT;
            return names->empty() ? -1 : 0;
        };
        return FileSystem(calls);
    }

    std::string find(const NvrtcRequest& request, Attempts& attempts) {
        return find_nvrtc(request, loader(), files(), {}, attempts)->path();
    }
    std::string find(const NvrtcRequest& request = {}) {
        Attempts attempts;
        return find(request, attempts);
    }
};

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("lesson 30: the search order, one place after the other") {
    Machine machine;
    machine.variables = {
        {"CUDA_PATH", "/cuda-path"}, {"VIRTUAL_ENV", "/venv"}, {"HOME", "/home/me"}, {"CONDA_PREFIX", "/conda"}};
    const std::vector<std::string> order = {
        "/app/libnvrtc.so.12",
        "/cuda-path/lib64/libnvrtc.so.12",
        "/usr/local/cuda/lib64/libnvrtc.so.12",
        "/usr/local/cuda-12.8/lib64/libnvrtc.so.12",
        "/usr/local/cuda-12.4/lib64/libnvrtc.so.12",
        "libnvrtc.so.12",
        "/torch/site-packages/nvidia/cu12/lib/libnvrtc.so.12",
        "/wheel/site-packages/nvidia/cu12/lib/libnvrtc.so.12",
        "/venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        "/home/me/.local/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12",
        "/usr/lib/python3/dist-packages/nvidia/cu12/lib/libnvrtc.so.12",
        "/conda/lib/libnvrtc.so.12"};
    for (const std::string& path : order) machine.libraries[path] = 12080;
    machine.own_file = "/wheel/site-packages/msda/libmsda.so";
    machine.mapped = {"/usr/lib/libc.so.6", "/app/libnvrtc.so.12", "/app/libnvrtc-builtins.so.12.8",
                      "/torch/site-packages/nvidia/cu12/lib/libcudart.so.12"};
    for (const std::string& path : order) {
        CHECK(machine.find() == path);
        machine.libraries.erase(path);
        std::erase(machine.mapped, path);
    }
    CHECK_THROWS_AS(machine.find(), Error);
}

TEST_CASE("an explicit library is the only one tried") {
    Machine machine;
    machine.libraries = {{"/usr/local/cuda/lib64/libnvrtc.so.13", 13000}, {"/mine/libnvrtc.so", 12040}};
    CHECK(machine.find({"/mine/libnvrtc.so", 0}) == "/mine/libnvrtc.so");
    Attempts attempts;
    CHECK_THROWS_AS(machine.find({"/wrong/libnvrtc.so", 0}, attempts), Error);
    REQUIRE(attempts.size() == 1);
    CHECK(attempts[0].origin == "MSDA_NVRTC");
    CHECK(attempts[0].outcome.find("cannot open") != std::string::npos);
}

TEST_CASE("versions: below 12.0 and of a newer major than the driver are passed over, with the reason") {
    Machine machine;
    machine.libraries = {{"/usr/local/cuda/lib64/libnvrtc.so.13", 13000},
                         {"/usr/local/cuda-11.8/lib64/libnvrtc.so.11", 11080},
                         {"/usr/local/cuda-12.9/lib64/libnvrtc.so.12", 12090},
                         {"/opt/cuda/lib64/libnvrtc.so.12", -1}};
    Attempts attempts;
    // A newer minor version is fine: cubins of one major version run on each of its drivers.
    CHECK(machine.find({"", 12040}, attempts) == "/usr/local/cuda-12.9/lib64/libnvrtc.so.12");
    const std::string text = describe(attempts);
    CHECK(text.find("CUDA 13.0 is newer than the driver understands (12.4)") != std::string::npos);
    CHECK(text.find("/usr/local/cuda-12.9/lib64/libnvrtc.so.12 (toolkit): taken, CUDA 12.9") != std::string::npos);
    CHECK(text.find("not tried, an earlier one was taken") != std::string::npos);
    CHECK(machine.find({"", 13000}) == "/usr/local/cuda/lib64/libnvrtc.so.13");
    machine.libraries.erase("/usr/local/cuda-12.9/lib64/libnvrtc.so.12");
    attempts.clear();
    try {
        machine.find({"", 12040}, attempts);
        FAIL("found one");
    } catch (const Error& error) {
        CHECK(error.code() == Code::no_compiler);
        CHECK(error.log().find("11.8 is too old, 12.0 or newer") != std::string::npos);
        CHECK(error.log().find("not NVRTC, it has no nvrtcVersion") != std::string::npos);
        CHECK(std::string(error.what()).find("MSDA_NVRTC") != std::string::npos);
    }
}

TEST_CASE("several versions in one folder: the newest that the driver understands") {
    Machine machine;
    machine.libraries = {{"/usr/local/cuda/lib64/libnvrtc.so.13", 13000},
                         {"/usr/local/cuda/lib64/libnvrtc.so.12", 12090},
                         {"/usr/local/cuda/lib64/libnvrtc.so.12.9.86", 12090},
                         {"/usr/local/cuda/lib64/libnvrtc.alt.so.13", 13000}};
    CHECK(machine.find() == "/usr/local/cuda/lib64/libnvrtc.so.13");
    CHECK(machine.find({"", 12000}) == "/usr/local/cuda/lib64/libnvrtc.so.12");
}

TEST_CASE("what an earlier process knew saves opening the library until something is compiled") {
    const TemporaryDirectory directory;
    write_text(directory / "libnvrtc.so.13", "a library");
    Machine machine;
    machine.libraries[directory / "libnvrtc.so.13"] = 13000;
    std::map<std::string, NvrtcInfo> known;
    NvrtcMemory memory;
    memory.recall = [&](const std::string& identity) {
        const auto found = known.find(identity);
        return found == known.end() ? std::nullopt : std::optional(found->second);
    };
    memory.remember = [&](const std::string& identity, const NvrtcInfo& info) { known[identity] = info; };
    const auto find = [&] {
        Attempts attempts;
        return find_nvrtc({directory / "libnvrtc.so.13", 0}, machine.loader(), FileSystem(), memory, attempts);
    };
    find();
    CHECK(known.size() == 1);
    CHECK(machine.opened.size() == 1);
    const auto warm = find();
    CHECK(machine.opened.size() == 1);
    CHECK(warm->info().version == 13000);
    warm->functions();
    CHECK(machine.opened.size() == 2);
    // Another file under the same name is another library.
    write_text(directory / "libnvrtc.so.13", "another library");
    machine.libraries[directory / "libnvrtc.so.13"] = 13010;
    CHECK(find()->info().version == 13010);
    // Replaced after it was chosen, before it was opened.
    const auto stale = find();
    machine.libraries[directory / "libnvrtc.so.13"] = 13020;
    CHECK_THROWS_AS(stale->functions(), Error);
}

TEST_CASE("lesson 30: a tree of real stub libraries, and the builtins beside the chosen one") {
    if (std::system("cc --version > /dev/null 2>&1") != 0) {
        MESSAGE("skipped: no C compiler to build stub libraries");
        return;
    }
    const TemporaryDirectory tree;
    const auto build = [&](const std::string& path, const std::string& source) {
        write_text(tree / "stub.c", source);
        write_text(tree / (path + ".made"), "");
        return std::system(fmt::format("cc -shared -fPIC -o {0}/{1} {0}/stub.c", tree.path(), path).c_str()) == 0;
    };
    std::string stub =
        "int nvrtcVersion(int* a, int* b) { *a = 12; *b = 3; return 0; }\n"
        "int nvrtcGetNumSupportedArchs(int* n) { *n = 1; return 0; }\n"
        "int nvrtcGetSupportedArchs(int* a) { *a = 90; return 0; }\n";
    for (const char* rest : {"GetErrorString", "CreateProgram", "DestroyProgram", "CompileProgram", "GetPTXSize",
                             "GetPTX", "GetCUBINSize", "GetCUBIN", "GetProgramLogSize", "GetProgramLog"})
        stub += fmt::format("int nvrtc{}() {{ return 1; }}\n", rest);
    REQUIRE(build("venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12", stub));
    REQUIRE(build("venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc-builtins.so.12.3", "int b;"));
    REQUIRE(build("cuda/lib64/libnvrtc.so.12", "int not_nvrtc;"));
    LibraryLoader loader = LibraryLoader::real();
    loader.mapped_files = [] { return std::vector<std::string>(); };
    loader.environment = [&](const char* name) {
        if (std::string_view(name) == "VIRTUAL_ENV") return tree / "venv";
        if (std::string_view(name) == "CUDA_PATH") return tree / "cuda";
        return std::string();
    };
    // Only the tree is there, whatever this machine has.
    SystemCalls calls = SystemCalls::real();
    calls.list = [&, list = calls.list](const char* path, std::vector<std::string>* names) {
        if (std::string_view(path).starts_with(tree.path())) return list(path, names);
        errno = ENOENT;
        return -1;
    };
    loader.open = [open = loader.open](const std::string& path, bool only_loaded, std::string& error) {
        if (path.find('/') == std::string::npos) {
            error = "not on this machine";
            return std::shared_ptr<void>();
        }
        return open(path, only_loaded, error);
    };
    Attempts attempts;
    const auto found = find_nvrtc({"", 0}, loader, FileSystem(calls), {}, attempts);
    CHECK(found->path() == tree / "venv/lib/python3.12/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
    CHECK(found->info() == NvrtcInfo{12030, {90}});
    CHECK(found->functions().builtins != nullptr);
    CHECK(describe(attempts).find("cuda/lib64/libnvrtc.so.12 (CUDA_PATH): not NVRTC, it has no nvrtcVersion") !=
          std::string::npos);
}

TEST_SUITE_END();
