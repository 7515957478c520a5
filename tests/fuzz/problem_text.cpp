// The text of a problem, as databases, captures, packs and --problem hold it, and after a line end a config's. Texts
// that are accepted read back, and the generator has a config and a plan for every problem, or refuses it in a
// sentence.
#include "generator/emit.hpp"
#include "generator/plan.hpp"
#include "tests/fuzz/fuzz.hpp"

using namespace msda;

namespace {

// Plan and source, where the grid fits the hardware.
void launch_plan(const Problem& problem, const Config& config) {
    const auto steps = fuzz::accepted([&] { return plan(problem, config); });
    if (!steps) return;
    for (const Step& step : steps->steps)
        fuzz::require(step.kind == Step::Kind::zero || (step.threads >= 1 && step.threads <= 1024), "blocks fit");
    if (!problem.empty()) fuzz::require(!emit(problem, config).empty(), "there is a source");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    const std::string_view input = fuzz::view(data, size);
    const std::vector<std::string_view> lines = fuzz::parts(input, '\n');
    const auto problem = fuzz::accepted([&] { return parse_problem(lines[0]); });
    const auto config = fuzz::accepted([&] { return parse_config(lines.size() > 1 ? lines[1] : ""); });
    if (config) fuzz::require(parse_config(canonical(*config)) == *config, "a config reads back");
    if (!problem) return 0;
    fuzz::require(parse_problem(canonical(*problem)) == *problem, "a problem reads back");
    fuzz::require(normalise(*problem) == *problem, "it is normalised");
    const Silicon silicon;
    if (config && why_not(*problem, *config, silicon).empty()) launch_plan(*problem, *config);
    const bool refused_by_hardware = problem->reference != Reference::none || problem->softmax;
    if (const auto standard = fuzz::accepted([&] { return default_config(*problem, silicon); })) {
        if (!refused_by_hardware)
            fuzz::require(why_not(*problem, *standard, silicon).empty(), "the default config can run");
        if (why_not(*problem, *standard, silicon).empty()) launch_plan(*problem, *standard);
    }
    return 0;
}
