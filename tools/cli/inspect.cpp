// msda inspect: what a problem turns into: source, launch plan, PTX, SASS, registers, atomics. Needs no GPU.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <memory>

#include "generator/emit.hpp"
#include "generator/plan.hpp"
#include "runtime/addresses.hpp"
#include "runtime/choose.hpp"
#include "runtime/runtime_state.hpp"
#include "tools/cli/architecture.hpp"
#include "tools/cli/atomics.hpp"
#include "tools/cli/config_option.hpp"
#include "tools/cli/disassembler.hpp"
#include "tools/cli/occupancy.hpp"
#include "tools/cli/outcome.hpp"
#include "tools/cli/registry.hpp"
#include "tools/cli/table.hpp"

namespace msda::cli {
namespace {

struct InspectOptions {
    ProblemOptions problem;
    ConfigOptions config;
    std::string arch, what = "resources";
    bool json = false;
};

// A problem with the config it gets on a GPU.
struct Subject {
    NamedProblem what;
    CompileTarget target;
    ChosenConfig chosen;
    CompileRequest request;
};

Subject subject_of(Session& session, const InspectOptions& options) {
    Subject subject{options.problem.problem(), compile_target(session, options.arch), {}, {}};
    const Problem& problem = subject.what.problem;
    const Silicon& silicon = subject.target.silicon;
    Runtime::State& state = session.runtime().state();
    subject.chosen = options.config.given()
                         ? ChosenConfig{options.config.config(problem, silicon), "given"}
                         : choose_config(problem, silicon, state.options.deterministic, state.layers);
    if (const std::string why = why_not(problem, subject.chosen.config, silicon); !why.empty())
        throw Error(Code::unsupported, why);
    subject.request = compile_request(problem, subject.chosen.config, silicon.capability);
    subject.request.suffix = subject.target.architecture.suffix;
    return subject;
}

Inspection compiled(Session& session, const Subject& subject) {
    return inspect(subject.request, *session.runtime().state().nvrtc(0));
}

std::string plan_text(const Plan& plan) {
    std::string text;
    for (const Step& step : plan.steps) {
        if (step.kind == Step::Kind::zero) {
            text += fmt::format("zero {}+{}: {} bytes\n", name(step.target.buffer), step.target.offset, step.bytes);
            continue;
        }
        std::vector<std::string> arguments;
        for (const Slot& slot : step.arguments)
            arguments.push_back(slot.offset == 0 ? name(slot.buffer)
                                                 : fmt::format("{}+{}", name(slot.buffer), slot.offset));
        text += fmt::format("launch {}: grid {}, {} threads, {} bytes of shared memory, ({})\n", step.kernel,
                            fmt::join(step.grid, "x"), step.threads, step.shared_bytes, fmt::join(arguments, ", "));
    }
    return text + fmt::format("workspace {} bytes\n", plan.workspace_bytes);
}

const Step* step_of(const Plan& plan, const std::string& kernel) {
    const auto step = std::ranges::find(plan.steps, kernel, &Step::kernel);
    return step == plan.steps.end() ? nullptr : &*step;
}

Json atomics_json(const std::vector<AtomicCount>& atomics) {
    Json all = Json::array();
    for (const AtomicCount& a : atomics)
        all.push_back({{"kernel", a.kernel}, {"opcode", a.opcode}, {"count", a.count}});
    return all;
}

void print_atomics(std::ostream& out, const std::vector<AtomicCount>& atomics) {
    if (atomics.empty()) {
        out << "no atomic instructions\n";
        return;
    }
    Table table({"kernel", "atomic", "count"});
    for (const AtomicCount& a : atomics) table.add({a.kernel, a.opcode, std::to_string(a.count)});
    table.print(out);
}

void print_resources(Session& session, const Subject& subject, bool json) {
    const Plan steps = plan(subject.what.problem, subject.chosen.config);
    const Inspection inspection = compiled(session, subject);
    const std::vector<AtomicCount> atomics = atomics_in_ptx(inspection.ptx);
    Json kernels = Json::array();
    Table table({"kernel", "registers", "stack", "spills", "static shared", "dynamic shared", "threads", "blocks",
                 "blocks an SM", "occupancy"});
    for (const KernelResources& r : inspection.kernels) {
        const Step* step = step_of(steps, r.name);
        if (step == nullptr) continue;
        const Occupancy o = occupancy(r, static_cast<int>(step->threads), step->shared_bytes, subject.target.silicon);
        const std::int64_t blocks = std::int64_t{step->grid[0]} * step->grid[1] * step->grid[2];
        table.add({r.name, std::to_string(r.registers), std::to_string(r.stack_bytes),
                   std::to_string(r.spill_store_bytes + r.spill_load_bytes), std::to_string(r.shared_bytes),
                   std::to_string(step->shared_bytes), std::to_string(step->threads), std::to_string(blocks),
                   std::to_string(o.blocks_per_sm), fmt::format("{:.0f} %", 100 * o.fraction)});
        kernels.push_back({{"name", r.name},
                           {"registers", r.registers},
                           {"stack_bytes", r.stack_bytes},
                           {"spill_store_bytes", r.spill_store_bytes},
                           {"spill_load_bytes", r.spill_load_bytes},
                           {"static_shared_bytes", r.shared_bytes},
                           {"dynamic_shared_bytes", step->shared_bytes},
                           {"threads", step->threads},
                           {"blocks", blocks},
                           {"blocks_per_sm", o.blocks_per_sm},
                           {"occupancy", o.fraction},
                           {"limited_by", o.limit}});
    }
    if (json) {
        session.out() << Json{{"shape", subject.what.shape},
                              {"arch", subject.target.architecture.text()},
                              {"config", to_json(subject.chosen.config)},
                              {"config_origin", subject.chosen.origin},
                              {"source_digest", source_digest(subject.request)},
                              {"workspace_bytes", steps.workspace_bytes},
                              {"kernels", kernels},
                              {"atomics", atomics_json(atomics)},
                              {"problem", canonical(subject.what.problem)}}
                             .dump(2)
                      << '\n';
        return;
    }
    session.out() << fmt::format("{} on {}: {} ({})\n", subject.what.shape, subject.target.architecture.text(),
                                 brief(subject.chosen.config, subject.what.problem.pass), subject.chosen.origin);
    table.print(session.out());
    if (subject.what.problem.pass == Pass::backward) print_atomics(session.out(), atomics);
}

// The atomics of the machine code where a disassembler is installed, else of the PTX.
void print_all_atomics(Session& session, const Subject& subject, bool json) {
    const Inspection inspection = compiled(session, subject);
    const std::vector<AtomicCount> in_ptx = atomics_in_ptx(inspection.ptx);
    std::vector<AtomicCount> in_sass;
    std::string no_sass;
    try {
        in_sass = atomics_in_sass(disassemble(inspection.cubin));
    } catch (const Error& error) {
        if (error.code() != Code::unsupported) throw;
        no_sass = error.what();
    }
    if (json) {
        session.out() << Json{{"ptx", atomics_json(in_ptx)},
                              {"sass", no_sass.empty() ? atomics_json(in_sass) : Json(nullptr)}}
                             .dump(2)
                      << '\n';
        return;
    }
    print_atomics(session.out(), in_ptx);
    if (no_sass.empty()) print_atomics(session.out(), in_sass);
    if (!no_sass.empty()) session.err() << fmt::format("msda: PTX only: {}\n", no_sass);
}

void inspect_problem(Session& session, const InspectOptions& options) {
    const std::vector<std::string> known = {"resources", "source", "plan", "ptx", "sass", "atomics"};
    if (std::ranges::find(known, options.what) == known.end())
        throw Error(Code::invalid_argument, fmt::format("--what: expected one of {}; got '{}'", fmt::join(known, ", "),
                                                        options.what.substr(0, 64)));
    if (options.json && options.what != "resources" && options.what != "atomics")
        throw Error(Code::invalid_argument, fmt::format("--json: {} is raw text", options.what));
    const Subject subject = subject_of(session, options);
    const Problem& problem = subject.what.problem;
    if (options.what == "source")
        session.out() << subject.request.source;
    else if (options.what == "plan")
        session.out() << plan_text(plan(problem, subject.chosen.config));
    else if (options.what == "ptx")
        session.out() << compiled(session, subject).ptx << '\n';
    else if (options.what == "sass")
        session.out() << disassemble(compiled(session, subject).cubin);
    else if (options.what == "atomics")
        print_all_atomics(session, subject, options.json);
    else
        print_resources(session, subject, options.json);
}

}  // namespace

void add_inspect(CLI::App& app, Session& session) {
    CLI::App* command =
        app.add_subcommand("inspect", "Show source, plan, PTX, SASS, registers or atomics; needs no GPU");
    const auto options = std::make_shared<InspectOptions>();
    options->problem.add(*command, false);
    options->config.add(*command);
    command->add_option("--arch", options->arch, "sm_90 or the like; default the GPU that is there, or sm_90");
    command->add_option("--what", options->what, "resources, source, plan, ptx, sass or atomics; default resources");
    command->add_flag("--json", options->json, "resources or atomics as one JSON object");
    command->callback([options, &session] { inspect_problem(session, *options); });
}

}  // namespace msda::cli
