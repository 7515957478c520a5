#include "runtime/compiler.hpp"

#include <doctest/doctest.h>

#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "msda/error.hpp"
#include "runtime/binaries.hpp"
#include "runtime/runtime_state.hpp"
#include "tests/fakes/fake_nvrtc.hpp"
#include "tests/fakes/temporary_directory.hpp"
#include "tests/runtime/fake_machine.hpp"
#include "tests/runtime/real_nvrtc.hpp"

using namespace msda;
using namespace msda::fakes;

namespace {

CompileRequest request_of(const std::string& source) {
    CompileRequest request;
    request.source = source;
    return request;
}

const char* const good_source = "extern \"C\" __global__ void k(float* x) { x[threadIdx.x] = 1.0f; }\n";

}  // namespace

TEST_SUITE_BEGIN("runtime");

TEST_CASE("target: own architecture, PTX of the newest below, or a version that works") {
    const FakeNvrtc fake({12090, {50, 70, 75, 80, 90, 100}});
    const auto nvrtc = fake.library();
    CHECK(choose_target(*nvrtc, 90, "", 0).architecture() == "sm_90");
    CHECK(choose_target(*nvrtc, 90, "a", 0).architecture() == "sm_90a");
    const Target newer = choose_target(*nvrtc, 120, "", 12090);
    CHECK(newer.architecture() == "compute_100");
    CHECK(newer.format == Target::Format::ptx);
    CHECK(choose_target(*nvrtc, 89, "", 0).architecture() == "compute_80");
    const auto [code, message] = error_of([&] { choose_target(*nvrtc, 120, "", 12040); });
    CHECK(code == Code::unsupported);
    CHECK(message.find("too new for the driver (CUDA 12.4)") != std::string::npos);
    CHECK(error_of([&] { choose_target(*nvrtc, 120, "a", 0); }).first == Code::unsupported);
}

TEST_CASE(
    "lesson 28: a GPU that this NVRTC has dropped is refused with library, path, version, both architectures and a "
    "remedy") {
    const FakeNvrtc fake;
    const auto [code, message] = error_of([&] { choose_target(*fake.library(), 70, "", 13000); });
    CHECK(code == Code::unsupported);
    for (const char* part : {"NVRTC 13.0", "/fake/libnvrtc.so", "sm_70", "sm_75 to sm_120", "12.0 to 12.9"})
        CHECK(message.find(part) != std::string::npos);
    CHECK(error_of([&] { choose_target(*fake.library(), 37, "", 0); }).second.find("CUDA 11.8 was the last") !=
          std::string::npos);
}

TEST_CASE("lesson 27: every field of a request changes the key; the order of options does not") {
    const FakeNvrtc fake;
    const FakeNvrtc other_version({13010, {75, 80, 86, 89, 90, 100, 120}});
    const auto nvrtc = fake.library();
    CompileRequest base = request_of(good_source);
    base.headers = {{"a.cuh", "text a"}, {"b.cuh", "text b"}};
    base.options = {"-DA=1", "-DB=2"};
    const Target target{Target::Format::cubin, 90, ""};
    std::set<std::string> keys = {key_of(base, target, *nvrtc)};
    const std::vector<std::function<void(CompileRequest&)>> changes = {
        [](auto& r) { r.source += " "; },
        [](auto& r) { r.name = "other.cu"; },
        [](auto& r) { r.headers[0].text = "t"; },
        [](auto& r) { r.headers[0].name = "c.cuh"; },
        [](auto& r) { r.headers.pop_back(); },
        [](auto& r) { std::swap(r.headers[0].text, r.headers[1].text); },
        [](auto& r) { r.options[0] = "-DA=2"; },
        [](auto& r) { r.options.pop_back(); },
        [](auto& r) { r.options = {"-DA=1-DB=2"}; },
        [](auto& r) { r.options.emplace_back("-DC"); }};
    for (const auto& change : changes) {
        CompileRequest request = base;
        change(request);
        keys.insert(key_of(request, target, *nvrtc));
    }
    keys.insert(key_of(base, {Target::Format::cubin, 80, ""}, *nvrtc));
    keys.insert(key_of(base, {Target::Format::cubin, 90, "a"}, *nvrtc));
    keys.insert(key_of(base, {Target::Format::ptx, 90, ""}, *nvrtc));
    keys.insert(key_of(base, target, *other_version.library()));
    keys.insert(key_of(base, target, *nvrtc, "0.0.9"));
    CHECK(keys.size() == changes.size() + 6);
    CompileRequest reordered = base;
    std::swap(reordered.options[0], reordered.options[1]);
    CHECK(key_of(reordered, target, *nvrtc) == key_of(base, target, *nvrtc));
}

TEST_CASE("two library versions on one cache: each finds its own code, and neither removes the other's") {
    const TemporaryDirectory directory;
    const FakeNvrtc fake;
    const FileSystem files;
    Warnings warnings([](const std::string& message) { FAIL_CHECK(message); });
    const CompileRequest request = request_of(good_source);
    const Target target{Target::Format::cubin, 90, ""};
    const std::array<std::string, 2> versions = {"0.0.9", version()};
    for (int round = 0; round < 2; ++round)
        for (const std::string& library : versions) {
            DiskCache cache(files, directory / "cache", warnings);
            const std::string key = key_of(request, target, *fake.library(), library);
            const auto found = cache.load(key);
            CHECK(found.has_value() == (round == 1));
            if (found.has_value()) CHECK(*found == "code of " + library);
            cache.store(key, "code of " + library);
        }
    CHECK(directory.files() == 2);
}

TEST_CASE("each failing NVRTC call is an Error, and no program is left") {
    for (const char* call : {"nvrtcCreateProgram", "nvrtcCompileProgram", "nvrtcGetCUBINSize", "nvrtcGetCUBIN",
                             "nvrtcGetProgramLogSize", "nvrtcGetProgramLog"}) {
        CAPTURE(call);
        FakeNvrtc fake;
        const auto nvrtc = fake.library();
        fake.fail(call, 1);
        CHECK(error_of([&] { compile(request_of(good_source), {}, *nvrtc); }).first == Code::compile_failed);
        CHECK(fake.live_programs() == 0);
        CHECK(compile(request_of(good_source), {}, *nvrtc).bytes.starts_with("FAKE --gpu-architecture=sm_90"));
        CHECK(fake.live_programs() == 0);
    }
}

TEST_CASE("a compiler that misses its builtins says where they must lie, and shows the whole log") {
    FakeNvrtc fake;
    fake.set_log("nvrtc: error: failed to open libnvrtc-builtins.so.13.0.\n");
    fake.fail("nvrtcCompileProgram", 1, NVRTC_ERROR_BUILTIN_OPERATION_FAILURE);
    try {
        compile(request_of(good_source), {}, *fake.library());
        FAIL("compiled");
    } catch (const Error& error) {
        CHECK(std::string(error.what()).find("libnvrtc-builtins library must lie beside it") != std::string::npos);
        CHECK(error.log().find("failed to open libnvrtc-builtins.so.13.0") != std::string::npos);
    }
}

TEST_CASE("binaries: packs first, then memory, then disk, then the compiler; PTX gives one notice") {
    const TemporaryDirectory directory;
    const FileSystem files;
    std::vector<std::string> messages;
    Warnings warnings([&](const std::string& message) { messages.push_back(message); });
    const FakeNvrtc fake;
    DiskCache cache(files, directory / "cache", warnings);
    int searches = 0;
    const auto find = [&](int) {
        ++searches;
        return fake.library();
    };
    CompileRequest request = request_of(good_source);
    {
        Binaries binaries(cache, warnings, find);
        const auto first = binaries.get(request, 13000);
        CHECK(binaries.get(request, 13000) == first);
        CHECK(fake.calls("nvrtcCompileProgram") == 1);
    }
    Binaries binaries(cache, warnings, find);
    CHECK(binaries.get(request, 13000)->bytes.starts_with("FAKE"));
    CHECK(fake.calls("nvrtcCompileProgram") == 1);
    request.capability = 121;
    CHECK(binaries.get(request, 13000)->target.architecture() == "compute_120");
    request.source += "// other\n";
    binaries.get(request, 13000);
    REQUIRE(messages.size() == 1);
    CHECK(messages[0].find("does not know sm_121") != std::string::npos);
    searches = 0;
    binaries.add_source([&](const std::string& digest, int capability) -> std::optional<Binary> {
        CHECK(digest == source_digest(request));
        CHECK(capability == 121);
        return Binary{{}, "FAKE packed", ""};
    });
    CHECK(binaries.get(request, 13000)->bytes == "FAKE packed");
    CHECK(searches == 0);
}

TEST_CASE("NVRTC compiles to a cubin and explains an error with numbered lines") {
    const auto nvrtc = real_nvrtc();
    if (nvrtc == nullptr) {
        MESSAGE("skipped: no NVRTC on this machine");
        return;
    }
    const Target target{Target::Format::cubin, 90, ""};
    const Binary binary = compile(request_of(good_source), target, *nvrtc);
    CHECK(binary.bytes.substr(1, 3) == "ELF");
    CHECK(compile(request_of(good_source), {Target::Format::ptx, 90, ""}, *nvrtc).bytes.find(".target sm_90") !=
          std::string::npos);
    CompileRequest broken = request_of(std::string("#include \"h.cuh\"\n") + good_source);
    broken.headers = {{"h.cuh", "// one\n__device__ int f() { return unknown; }\n"}};
    try {
        compile(broken, target, *nvrtc);
        FAIL("compiled");
    } catch (const Error& error) {
        CHECK(error.code() == Code::compile_failed);
        CHECK(std::string(error.what()).find(nvrtc->path()) != std::string::npos);
        CHECK(error.log().find("identifier \"unknown\" is undefined") != std::string::npos);
        CHECK(error.log().find(">    2 | __device__ int f() { return unknown; }") != std::string::npos);
    }
}

TEST_CASE("lesson 31: the emitted kernels compile with no include path, and inspection reads what they take") {
    const auto nvrtc = real_nvrtc();
    if (nvrtc == nullptr) {
        MESSAGE("skipped: no NVRTC on this machine");
        return;
    }
    const Problem problem = normalise(small_problem());
    Silicon silicon;
    const Inspection seen =
        inspect(compile_request(problem, default_config(problem, silicon), silicon.capability), *nvrtc);
    CHECK(seen.ptx.find(".entry") != std::string::npos);
    CHECK(seen.cubin.substr(1, 3) == "ELF");
    REQUIRE(seen.kernels.size() == 1);
    CHECK(seen.kernels[0].registers > 0);
    CHECK(seen.kernels[0].spill_store_bytes == 0);
}

TEST_SUITE_END();
