// msda compile: machine code for named architectures, with no GPU.
#include <fmt/format.h>

#include <chrono>
#include <filesystem>
#include <memory>

#include "runtime/choose.hpp"
#include "runtime/parallel.hpp"
#include "runtime/runtime_state.hpp"
#include "tools/cli/architecture.hpp"
#include "tools/cli/config_option.hpp"
#include "tools/cli/outcome.hpp"
#include "tools/cli/output_file.hpp"
#include "tools/cli/progress.hpp"
#include "tools/cli/registry.hpp"
#include "tools/cli/table.hpp"

namespace msda::cli {
namespace {

struct CompileOptions {
    ProblemOptions problem;
    ConfigOptions config;
    std::vector<std::string> architectures;
    std::string directory;
    bool json = false;
};

// One problem for one architecture.
struct CompileJob {
    NamedProblem what;
    CompileTarget target;
    std::string file;
    std::string digest;
    std::shared_ptr<const Binary> binary;
    double milliseconds = 0;
};

std::string file_name(const CompileJob& job) {
    const Problem& p = job.what.problem;
    std::string name = fmt::format("{}-{}-{}", job.what.shape, msda::name(p.pass), msda::name(p.value));
    if (p.pass == Pass::backward && p.accumulate != Accumulate::automatic)
        name += fmt::format("-{}", msda::name(p.accumulate));
    return fmt::format("{}.{}.{}", name, job.target.architecture.text(),
                       job.binary->target.format == Target::Format::cubin ? "cubin" : "ptx");
}

void compile_one(Runtime& runtime, const ConfigOptions& changes, CompileJob& job) {
    Runtime::State& state = runtime.state();
    const Silicon& silicon = job.target.silicon;
    const Config config =
        changes.given() ? changes.config(job.what.problem, silicon)
                        : choose_config(job.what.problem, silicon, state.options.deterministic, state.layers).config;
    if (const std::string why = why_not(job.what.problem, config, silicon); !why.empty())
        throw Error(Code::unsupported, fmt::format("{}: {}", job.what.shape, why));
    CompileRequest request = compile_request(job.what.problem, config, silicon.capability);
    request.suffix = job.target.architecture.suffix;
    const auto start = std::chrono::steady_clock::now();
    job.binary = state.binaries.get(request, 0);
    job.milliseconds = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    job.digest = source_digest(request);
    job.file = file_name(job);
}

std::vector<CompileJob> compile_jobs_of(Session& session, const CompileOptions& options) {
    std::vector<std::string> architectures = options.architectures;
    if (architectures.empty()) architectures.emplace_back();  // the GPU that is there, or sm_90
    std::vector<CompileJob> jobs;
    for (const NamedProblem& what : options.problem.problems()) {
        if (what.problem.empty())
            throw Error(Code::invalid_argument, fmt::format("{}: nothing to compile for an empty problem", what.shape));
        for (const std::string& arch : architectures)
            jobs.push_back({what, compile_target(session, arch), {}, {}, {}, 0});
    }
    return jobs;
}

void report(Session& session, const std::vector<CompileJob>& jobs, bool json) {
    if (json) {
        Json all = Json::array();
        for (const CompileJob& job : jobs)
            all.push_back({{"shape", job.what.shape},
                           {"pass", name(job.what.problem.pass)},
                           {"dtype", name(job.what.problem.value)},
                           {"arch", job.target.architecture.text()},
                           {"target", job.binary->target.architecture()},
                           {"source_digest", job.digest},
                           {"file", job.file},
                           {"bytes", job.binary->bytes.size()},
                           {"milliseconds", job.milliseconds}});
        session.out() << all.dump(2) << '\n';
        return;
    }
    Table table({"file", "target", "bytes", "ms"});
    for (const CompileJob& job : jobs)
        table.add({job.file, job.binary->target.architecture(), std::to_string(job.binary->bytes.size()),
                   fmt::format("{:.0f}", job.milliseconds)});
    table.print(session.out());
}

void compile(Session& session, const CompileOptions& options) {
    std::vector<CompileJob> jobs = compile_jobs_of(session, options);
    {
        Progress progress(session, "compiled", jobs.size());
        parallel_for(thread_count(0), static_cast<std::int64_t>(jobs.size()), 1,
                     [&](std::int64_t begin, std::int64_t end, int) {
                         for (std::int64_t i = begin; i < end; i++) {
                             CompileJob& job = jobs[static_cast<std::size_t>(i)];
                             compile_one(session.runtime(), options.config, job);
                             progress.step(job.file);
                         }
                     });
    }
    // Nothing is written unless all compiled.
    if (!options.directory.empty())
        for (const CompileJob& job : jobs)
            write_output((std::filesystem::path(options.directory) / job.file).string(), job.binary->bytes);
    report(session, jobs, options.json);
}

}  // namespace

void add_compile(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand("compile", "Compile kernels for named architectures; needs no GPU");
    const auto options = std::make_shared<CompileOptions>();
    options->problem.add(*command, true);
    options->config.add(*command);
    command
        ->add_option("--arch", options->architectures,
                     "sm_90, may be repeated; default the GPU that is there, or sm_90")
        ->type_name("TEXT")
        ->delimiter(',');
    command->add_option("-o,--output", options->directory, "directory for the .cubin (or .ptx) files; default: none");
    command->add_flag("--json", options->json, "a JSON array on stdout");
    command->callback([options, &session] { compile(session, *options); });
}

}  // namespace msda::cli
