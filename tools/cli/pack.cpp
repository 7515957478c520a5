// msda pack: compiles named problems for named GPUs and puts code and tuning records into one file.
#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "generator/plan.hpp"
#include "runtime/pack/packs.hpp"
#include "runtime/runtime_state.hpp"
#include "tools/cli/architecture.hpp"
#include "tools/cli/numbers.hpp"
#include "tools/cli/options.hpp"
#include "tools/cli/outcome.hpp"
#include "tools/cli/output_file.hpp"
#include "tools/cli/progress.hpp"
#include "tools/cli/registry.hpp"
#include "tools/cli/silicon_option.hpp"
#include "tools/cli/table.hpp"
#include "tuning_db/database_file.hpp"

namespace msda::cli {
namespace {

struct PackOptions {
    ProblemOptions problem;
    std::string arch = "sm_90", db, out, inspect;
    bool json = false;
};

// What is to be compiled: equal source for equal hardware once.
struct PackJob {
    NamedProblem what;
    Config config;
    int capability = 90;
};

std::unique_ptr<Layers> layers_of(Session& session, const PackOptions& options) {
    LayersOptions layers = LayersOptions::from_environment();
    if (!options.db.empty()) layers.file = options.db;
    layers.warn = [&](const std::string& message) { session.err() << fmt::format("msda: warning: {}\n", message); };
    return std::make_unique<Layers>(layers);
}

// All chips of an architecture that the records know, and the usual one: a pack serves each with the config it would
// choose.
std::vector<Silicon> chips_of(int capability, const Database& records) {
    std::vector<Silicon> chips = {typical_silicon(capability)};
    std::set<SiliconKey> known = {key_of(chips.front())};
    for (const auto& [key, record] : records.records())
        if (key.second.capability == capability && known.insert(key.second).second)
            chips.push_back(silicon_of(key.second));
    return chips;
}

std::vector<PackJob> pack_jobs_of(const std::vector<NamedProblem>& problems, const std::vector<int>& capabilities,
                                  const Layers& layers) {
    std::vector<PackJob> jobs;
    const Database records = layers.effective();
    for (const NamedProblem& what : problems)
        for (const int capability : capabilities) {
            std::set<std::string> configs;
            for (const Silicon& chip : chips_of(capability, records)) {
                const Config config = layers.choose(what.problem, chip).config;
                if (const std::string why = why_not(what.problem, config, chip); !why.empty())
                    throw Error(Code::unsupported, fmt::format("{}: {}", what.shape, why));
                if (configs.insert(canonical(config)).second) jobs.push_back({what, config, capability});
            }
        }
    return jobs;
}

PackedKernels compile_job(const PackJob& job, const NvrtcLibrary& nvrtc) {
    const CompileRequest request = compile_request(job.what.problem, job.config, job.capability);
    PackedKernels kernels;
    kernels.source_digest = source_digest(request);
    kernels.capability = job.capability;
    kernels.problem = canonical(job.what.problem);
    kernels.config = canonical(job.config);
    for (const Step& step : plan(job.what.problem, job.config).steps)
        if (step.kind == Step::Kind::kernel) kernels.kernels.push_back(step.kernel);
    kernels.binary = compile(request, choose_target(nvrtc, job.capability, "", 0), nvrtc);
    return kernels;
}

std::vector<PackedKernels> compile_all(Session& session, const std::vector<PackJob>& jobs) {
    const auto nvrtc = session.runtime().state().nvrtc(0);
    std::vector<PackedKernels> results(jobs.size());
    std::atomic<std::size_t> next = 0;
    std::mutex mutex;
    std::exception_ptr failure;
    Progress progress(session, "compiled", jobs.size());
    {
        std::vector<std::jthread> threads;
        for (unsigned i = 0; i < std::max(1u, std::thread::hardware_concurrency()); i++)
            threads.emplace_back([&] {
                for (std::size_t job = next++; job < jobs.size(); job = next++) try {
                        results[job] = compile_job(jobs[job], *nvrtc);
                        progress.step(jobs[job].what.shape);
                    } catch (...) {
                        const std::lock_guard lock(mutex);
                        failure = std::current_exception();
                        next = jobs.size();
                    }
            });
    }
    if (failure) std::rethrow_exception(failure);
    return results;
}

void inspect_pack(Session& session, const PackOptions& options) {
    const PackFile pack = open_pack(FileSystem(), options.inspect);
    const Database records = pack.database();
    Json kernels = Json::array();
    Table table({"problem", "architecture", "format", "bytes", "kernels", "source digest"});
    for (const PackFile::Entry& entry : pack.entries()) {
        const Binary binary = pack.binary(entry);  // checks the digest
        const PackedKernels& k = entry.kernels;
        const char* format = binary.target.format == Target::Format::ptx ? "ptx" : "cubin";
        table.add({k.problem, binary.target.architecture(), format, fmt::format("{}", binary.bytes.size()),
                   fmt::format("{}", fmt::join(k.kernels, " ")), k.source_digest});
        kernels.push_back({{"problem", k.problem},
                           {"config", k.config},
                           {"architecture", binary.target.architecture()},
                           {"format", format},
                           {"bytes", binary.bytes.size()},
                           {"kernels", k.kernels},
                           {"source_digest", k.source_digest}});
    }
    if (options.json) {
        session.out() << Json{{"generator", pack.generator()}, {"records", records.size()}, {"kernels", kernels}}.dump(
                             2)
                      << '\n';
        return;
    }
    session.out() << fmt::format("{}: msda {}, {} records, {} compiled kernels\n", options.inspect, pack.generator(),
                                 records.size(), pack.entries().size());
    table.print(session.out());
}

void write(Session& session, const PackOptions& options) {
    if (options.out.empty()) throw Error(Code::invalid_argument, "pack: expected -o FILE or --inspect FILE");
    const std::vector<NamedProblem> problems = options.problem.problems();
    std::vector<int> capabilities;
    for (const std::string& arch : split_list(options.arch))
        capabilities.push_back(parse_architecture(arch).capability);
    const auto layers = layers_of(session, options);
    PackContent content;
    content.generator = version();
    // All records of these architectures travel along, so that the same problem finds the same config there.
    const Database records = layers->effective();
    for (const auto& [key, record] : records.records())
        if (std::ranges::find(capabilities, key.second.capability) != capabilities.end() &&
            key.second.partition != simulated_partition)
            content.database.add(record);
    content.kernels = compile_all(session, pack_jobs_of(problems, capabilities, *layers));
    const std::size_t compiled = content.kernels.size();
    const std::size_t count = content.database.size();
    const std::string bytes = write_pack(std::move(content));
    write_output(options.out, bytes);
    if (options.json)
        session.out()
            << Json{{"file", options.out}, {"bytes", bytes.size()}, {"kernels", compiled}, {"records", count}}.dump(2)
            << '\n';
    else
        session.out() << fmt::format("{}: {} records, {} compiled kernels, {} bytes\n", options.out, count, compiled,
                                     bytes.size());
}

}  // namespace

void add_pack(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand(
        "pack", "Tuning records and compiled kernels in one file, for machines without a compiler (MSDA_PACK)");
    const auto options = std::make_shared<PackOptions>();
    options->problem.add(*command, true);
    command->add_option("--arch", options->arch, "architectures to compile for: sm_80,sm_90; default sm_90");
    command->add_option("--db", options->db, "take records and configs from this database alone");
    command->add_option("-o,--output", options->out, "the pack to write");
    command->add_option("--inspect", options->inspect, "check a pack and list what is in it");
    command->add_flag("--json", options->json, "one JSON object on stdout");
    command->callback([options, &session] {
        if (options->inspect.empty())
            write(session, *options);
        else
            inspect_pack(session, *options);
    });
}

}  // namespace msda::cli
