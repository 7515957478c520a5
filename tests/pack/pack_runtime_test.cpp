// A runtime with a driver, a pack, and neither NVRTC nor cache: it starts, and compiles nothing.
#include <doctest/doctest.h>
#include <sys/stat.h>

#include <fstream>

#include "generator/plan.hpp"
#include "runtime/pack/pack.hpp"
#include "runtime/runtime_state.hpp"
#include "tests/fakes/fake_driver.hpp"
#include "tests/tuning_db/example.hpp"

using namespace msda;
using namespace msda::test;

namespace {

// What the fake driver loads: the source itself.
std::string pack_of(const Record& record, int capability) {
    const Problem problem = parse_problem(record.problem);
    Config config;
    for (const ConfigField& field : config_fields())
        config.*field.member = static_cast<int>(record.config.at(std::string(field.name)));
    const CompileRequest request = compile_request(problem, config, capability);
    PackedKernels kernels;
    kernels.source_digest = source_digest(request);
    kernels.capability = capability;
    kernels.binary.target.capability = capability;
    kernels.binary.bytes = "FAKE " + request.source;
    PackContent content;
    content.generator = "test";
    content.database.add(record);
    content.kernels = {kernels};
    return write_pack(std::move(content));
}

}  // namespace

TEST_SUITE_BEGIN("pack");

TEST_CASE("driver and pack alone are enough") {
    fakes::FakeDevice device;
    const Record record = record_of(decoder(), device.silicon, 1.3);
    const TemporaryDirectory directory;
    const std::string path = directory / "a.pack";
    std::ofstream(path, std::ios::binary) << pack_of(record, device.silicon.capability);
    chmod(path.c_str(), 0600);

    fakes::FakeDriver driver({device});
    Options options;
    options.disk_cache = false;
    options.packs = path;
    options.nvrtc_library = directory / "no-such-libnvrtc.so";
    std::vector<std::string> warnings;
    options.warn = [&](const std::string& message) { warnings.push_back(message); };
    Runtime runtime(options);
    runtime.state().use_driver(driver.started());
    const Operator op = runtime.prepare(decoder());
    CHECK(op.config_origin() == "exact");
    CHECK(by_name(op.config()) == record.config);
    CHECK(driver.live_modules() == 1);
    CHECK(warnings.empty());
    // What the pack does not hold still needs a compiler, and says so.
    CHECK_THROWS_AS(runtime.prepare(decoder(77)), Error);
}

TEST_SUITE_END();
