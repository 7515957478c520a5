#include "tests/nvrtc/compilers.hpp"

#include <fmt/format.h>

#include <atomic>
#include <cstdlib>
#include <sstream>
#include <thread>

#include "generator/emit.hpp"
#include "generator/geometry.hpp"
#include "msda/error.hpp"

namespace msda::test {
namespace {

std::vector<std::shared_ptr<const NvrtcLibrary>> find_all() {
    const char* named = std::getenv("MSDA_TEST_NVRTC");
    std::istringstream paths(named == nullptr ? "" : named);
    std::vector<std::shared_ptr<const NvrtcLibrary>> found;
    for (std::string path; std::getline(paths, path, ':');) {
        if (path.empty()) continue;
        Attempts attempts;
        found.push_back(find_nvrtc({path, 0}, LibraryLoader::real(), FileSystem(), {}, attempts));
    }
    if (!found.empty()) return found;
    try {
        Attempts attempts;
        found.push_back(find_nvrtc({}, LibraryLoader::real(), FileSystem(), {}, attempts));
    } catch (const Error&) {  // no compiler on this machine: the tests skip
    }
    return found;
}

CompileRequest request_of(const Form& form) {
    CompileRequest request;
    request.source = emit(form.problem, form.config);
    for (const TemplateFile& file : template_files()) request.headers.push_back({file.name, file.text});
    request.capability = form.silicon.capability;
    return request;
}

Problem small(Pass pass, Type value, Accumulate accumulate, bool family) {
    Problem p;
    p.pass = pass;
    p.batch = 2;
    p.queries = 40;
    p.levels = {{20, 30}, {10, 15}};
    p.value = value;
    p.location = value == Type::f64 ? Type::f64 : Type::f32;
    p.weight = p.output = value == Type::e4m3 ? Type::f16 : value;
    p.accumulate = accumulate;
    p.specialise = family ? Specialise::family : Specialise::exact;
    return normalise(p);
}

// Collects the forms that can run on one GPU.
class Forms {
  public:
    explicit Forms(int capability) : silicon_(silicon_for(capability)) {}

    void add(std::string_view what, const Problem& p, const Config& c) {
        if (!why_not(p, c, silicon_).empty()) return;
        all_.push_back({fmt::format("{} {} {} {} sm_{}", what, name(p.value), name(p.accumulate), name(p.specialise),
                                    silicon_.capability),
                        p, c, silicon_});
    }

    void forward(Type value) {
        const Problem p = small(Pass::forward, value, Accumulate::automatic, turn());
        add("forward", p, default_config(p, silicon_));
    }

    void fused(Pass pass, Type value, Reference reference) {
        Problem p = small(pass, value, Accumulate::automatic, turn());
        p.softmax = true;
        p.reference = reference;
        if (reference == Reference::pillars)
            p.pillars = 4;
        else
            p.reference_levels = 1;
        p = normalise(p);
        Config c = default_config(p, silicon_);
        add(fmt::format("fused {} {}", name(pass), name(reference)), p, c);
    }

    void direct(Type value, Accumulate sums) {
        const Problem p = small(Pass::backward, value, sums, turn());
        Config c = base(p);
        c.scatter = scatter_direct;
        c.kept = 0;
        add("direct", p, c);
    }

    void sorted(Type value, Accumulate sums) {
        const Problem p = small(Pass::backward, value, sums, turn());
        Config c = base(p);
        c.scatter = scatter_sorted;
        c.heads = c.split = 1;
        c.tile_width = 16, c.tile_height = 0, c.threads = 128, c.cells = 512, c.kept = 0;
        add("sorted", p, c);
    }

    void dense(Type value, Accumulate sums) {
        const Problem p = small(Pass::backward, value, sums, turn());
        Config c = base(p);
        c.scatter = scatter_dense;
        c.heads = c.split = 1;
        c.tile_width = 32, c.tile_height = 0, c.threads = 64, c.cells = 64, c.kept = 0;
        add("dense", p, c);
    }

    void owned(Type value, bool once) {
        const Problem p = small(Pass::backward, value, Accumulate::deterministic, turn());
        Config c = base(p);
        c.scatter = scatter_owned;
        c.threads = row_threads(c);
        c.cells = 64;
        c.kept = once ? 256 : 0;
        add(once ? "owned once" : "owned summed", p, c);
    }

    std::vector<Form> take() { return std::move(all_); }

  private:
    // The lanes and vectors that the heuristic picks, whatever form it prefers.
    Config base(const Problem& p) const {
        Problem row = p;
        row.gradients.value = false;
        return default_config(normalise(row), silicon_);
    }
    bool turn() { return family_ = !family_; }

    Silicon silicon_;
    bool family_ = false;
    std::vector<Form> all_;
};

}  // namespace

const std::vector<std::shared_ptr<const NvrtcLibrary>>& compilers() {
    static const auto all = find_all();
    return all;
}

void in_two_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
    std::atomic<std::size_t> next = 0;
    const auto loop = [&] {
        for (std::size_t i = next++; i < count; i = next++) work(i);
    };
    std::thread other(loop);
    loop();
    other.join();
}

std::vector<Compiled> compile_all(const std::vector<CompileJob>& jobs) {
    std::vector<Compiled> results(jobs.size());
    in_two_threads(jobs.size(), [&](std::size_t i) {
        results[i].form = &jobs[i].form;
        results[i].compiler = version_text(jobs[i].compiler->info().version);
        try {
            results[i].code = inspect(request_of(jobs[i].form), *jobs[i].compiler);
        } catch (const Error& error) {
            results[i].error = fmt::format("{}\n{}", error.what(), error.log());
        }
    });
    return results;
}

std::vector<Form> forms(int capability) {
    Forms all(capability);
    for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f64, Type::e4m3}) all.forward(type);
    all.fused(Pass::forward, Type::f16, Reference::points);
    all.fused(Pass::forward, Type::f32, Reference::boxes);
    all.fused(Pass::forward, Type::f64, Reference::pillars);
    all.fused(Pass::backward, Type::f32, Reference::points);
    all.fused(Pass::backward, Type::bf16, Reference::boxes);
    all.fused(Pass::backward, Type::f64, Reference::pillars);
    all.direct(Type::f32, Accumulate::f32);
    all.direct(Type::f64, Accumulate::automatic);
    for (const Type type : {Type::f16, Type::bf16})
        for (const Accumulate sums : {Accumulate::automatic, Accumulate::native}) all.direct(type, sums);
    all.sorted(Type::f32, Accumulate::f32);
    for (const Type type : {Type::f16, Type::bf16})
        for (const Accumulate sums : {Accumulate::automatic, Accumulate::native}) {
            all.sorted(type, sums);
            all.dense(type, sums);
        }
    for (const Type type : {Type::f32, Type::f16, Type::bf16, Type::f64})
        for (const bool once : {false, true}) all.owned(type, once);
    return all.take();
}

Silicon silicon_for(int capability) {
    Silicon s;
    s.capability = capability;
    if (capability >= 90 && capability < 120) return s;
    s.shared_per_block = (capability == 80 || capability == 87 ? 163
                          : capability >= 86                   ? 99
                          : capability == 75                   ? 64
                                                               : 48)
                         << 10;
    s.shared_per_sm = s.shared_per_block + 1024;
    s.threads_per_sm = capability == 75 ? 1024 : capability == 80 || capability == 87 || capability < 75 ? 2048 : 1536;
    if (capability == 80) s.sm_count = 108, s.l2_bytes = 40 << 20;
    return s;
}

}  // namespace msda::test
