// Every kernel form compiles with every NVRTC for every architecture it knows, from memory alone, without spilling
// where it matters and without a compare-and-swap anywhere.
#include <doctest/doctest.h>

#include <optional>
#include <regex>
#include <set>

#include "runtime/shapes.hpp"
#include "tests/matrix.hpp"
#include "tests/nvrtc/compilers.hpp"
#include "tests/nvrtc/disassembler.hpp"

using namespace msda;
using test::Compiled;
using test::CompileJob;

namespace {

bool no_compiler() {
    if (!test::compilers().empty()) return false;
    MESSAGE("skipped: no NVRTC here (MSDA_TEST_NVRTC names them)");
    return true;
}

// An atomic that sums is a `red`, or an `atom` on shared memory with an operation of its own; a loop is a cas.
bool swaps_in_ptx(const std::string& ptx) {
    static const std::regex cas(R"(\b(atom|red)\S*\.cas\b)");
    return std::regex_search(ptx, cas);
}

// ATOM.E.CAS, ATOMG.E.CAS.STRONG.GPU, ATOMS.CAS, ATOMS.CAST.SPIN.
bool swaps_in_sass(const std::string& sass) {
    static const std::regex cas(R"(\bATOM[SG]?\b\S*\.CAS)");
    return std::regex_search(sass, cas);
}

// A form whose reductions differ from architecture to architecture: direct sums in each type that has its own.
bool own_reduction(const test::Form& form) {
    const bool native = form.problem.accumulate == Accumulate::native || bytes_of(form.problem.value) > 2;
    return form.name.starts_with("direct") && native;
}

// All forms at the newest architecture of the last compiler. At each other architecture every kind of reduction, one
// sorted form and one of the rest, which move on with the architecture so that each form meets old and new ones; only
// one form where an earlier compiler has done that architecture. About 40 s on two cores. The slice: every kind of
// reduction for sm_80 and sm_90, and one in eight of the others.
std::vector<CompileJob> matrix() {
    std::vector<CompileJob> jobs;
    std::set<int> done;
    std::size_t turn = 0;
    for (const auto& compiler : test::compilers()) {
        const std::vector<int>& known = compiler->info().architectures;
        for (const int capability : known) {
            std::vector<test::Form> sorted, rest;
            for (const test::Form& form : test::forms(capability)) {
                if ((capability == known.back() && compiler == test::compilers().back()) ||
                    (own_reduction(form) && done.count(capability) == 0))
                    jobs.push_back({compiler, form});
                else
                    (form.name.starts_with("sorted") ? sorted : rest).push_back(form);
            }
            turn++;
            if (!sorted.empty() && done.count(capability) == 0)
                jobs.push_back({compiler, sorted[turn % sorted.size()]});
            if (!rest.empty()) jobs.push_back({compiler, rest[turn % rest.size()]});
            done.insert(capability);
        }
    }
    if (test::whole_matrices()) return jobs;
    std::size_t place = 0;
    std::erase_if(jobs, [&](const CompileJob& job) {
        const int capability = job.form.silicon.capability;
        const bool kept = own_reduction(job.form) && (capability == 80 || capability == 90);
        return !kept && place++ % 8 != 0;
    });
    return jobs;
}

// Compiled once for all cases below.
const std::vector<Compiled>& compiled() {
    static const std::vector<CompileJob> jobs = matrix();
    static const std::vector<Compiled> results = compile_all(jobs);
    return results;
}

}  // namespace

TEST_SUITE_BEGIN("nvrtc");

TEST_CASE("the pattern that finds a compare-and-swap finds one, and no other atomic") {
    CHECK(swaps_in_ptx("atom.relaxed.gpu.global.cas.b32 %r1, [%rd1], %r2, %r3;"));
    CHECK(swaps_in_ptx("atom.global.cas.b16 %rs1, [%rd1], %rs2, %rs3;"));
    CHECK_FALSE(swaps_in_ptx("red.relaxed.gpu.global.add.f32 [%rd1], %f1;\natom.shared.add.u32 %r1, [%r2], 1;"));
    CHECK(swaps_in_sass("        /*0a10*/  ATOMG.E.CAS.STRONG.GPU PT, R3, [R4], R6, R7 ;"));
    CHECK(swaps_in_sass("ATOM.E.CAS P0, R3, [R4], R6, R7 ;"));
    CHECK(swaps_in_sass("@P0 ATOMS.CAST.SPIN R5, [R4], R2, R3 ;"));
    CHECK_FALSE(swaps_in_sass(
        "ATOMS.ADD R5, [R4], R2 ;\nRED.E.ADD.F32.FTZ.RN.STRONG.GPU [R4], R3 ;\nATOMS.POPC.INC.32 R0, [R2];"));
}

TEST_CASE("every form compiles for every architecture with an empty include path") {
    if (no_compiler()) return;
    std::set<int> architectures;
    for (const Compiled& result : compiled()) {
        CHECK_MESSAGE(result.error.empty(), result.form->name, " with NVRTC ", result.compiler, ": ", result.error);
        CHECK(result.code.cubin.size() > 1000);
        architectures.insert(result.form->silicon.capability);
    }
    for (const auto& compiler : test::compilers())
        for (const int known : compiler->info().architectures)
            CHECK((architectures.contains(known) || !test::whole_matrices()));
    CHECK(architectures.size() >= 5);
    MESSAGE(compiled().size() << " kernels for " << architectures.size() << " architectures with "
                              << test::compilers().size() << " compilers");
}

TEST_CASE("no compare-and-swap in PTX, on any architecture, with any accumulator") {
    if (no_compiler()) return;
    int reds = 0;
    for (const Compiled& result : compiled()) {
        CHECK_MESSAGE(!swaps_in_ptx(result.code.ptx), result.form->name, " with NVRTC ", result.compiler);
        reds += result.code.ptx.find("red.global.add") != std::string::npos ? 1 : 0;
    }
    CHECK(reds > static_cast<int>(compiled().size()) / 8);
}

TEST_CASE("no compare-and-swap in machine code") {
    if (no_compiler()) return;
    if (!test::can_disassemble()) {
        MESSAGE("skipped: no disassembler here (MSDA_TEST_NVDISASM, MSDA_TEST_NVDISASM_12, MSDA_TEST_CUOBJDUMP)");
        return;
    }
    // Each kind of sum once an architecture: the second compiler's are the same instructions.
    std::vector<const Compiled*> sums;
    std::set<std::string> names;
    for (const Compiled& result : compiled())
        if ((own_reduction(*result.form) || result.form->name.starts_with("sorted")) && result.error.empty() &&
            names.insert(result.form->name).second)
            sums.push_back(&result);
    std::vector<std::optional<std::string>> listings(sums.size());
    test::in_two_threads(sums.size(), [&](std::size_t i) { listings[i] = test::disassemble(sums[i]->code.cubin); });
    std::set<int> read, unread;
    for (std::size_t i = 0; i < sums.size(); i++) {
        (listings[i] ? read : unread).insert(sums[i]->form->silicon.capability);
        if (!listings[i]) continue;
        CHECK_MESSAGE(!swaps_in_sass(*listings[i]), sums[i]->form->name);
        CHECK_MESSAGE(listings[i]->find("RED") != std::string::npos, sums[i]->form->name, ": no reduction found");
    }
    for (const int capability : unread) {
        CHECK_MESSAGE(capability < test::oldest_disassembled(), "no disassembler can read sm_", capability);
        MESSAGE("sm_" << capability << ": no disassembler here knows it, its PTX alone was read");
    }
    CHECK_FALSE(read.empty());
}

TEST_CASE("vector reductions from sm_90, packed and scalar ones before") {
    if (no_compiler()) return;
    for (const Compiled& result : compiled()) {
        if (!result.form->name.starts_with("direct")) continue;
        const bool hopper = result.form->silicon.capability >= 90;
        const Problem& p = result.form->problem;
        CAPTURE(result.form->name);
        const auto has = [&](const char* text) { return result.code.ptx.find(text) != std::string::npos; };
        if (p.value == Type::f32) CHECK(has("red.global.add.v4.f32") == hopper);
        if (p.value == Type::f16 && p.accumulate == Accumulate::native) CHECK(has(".f16x2") == true);
        if (p.value == Type::f16 && p.accumulate == Accumulate::native)
            CHECK(has("red.global.add.noftz.v4.f16x2") == hopper);
        if (p.value == Type::bf16 && p.accumulate == Accumulate::native) CHECK(hopper);
    }
}

TEST_CASE("default configs of model shapes spill nothing that matters on sm_80 and sm_90") {
    if (no_compiler()) return;
    std::vector<CompileJob> jobs;
    for (const int capability : {80, 90})
        for (const char* id : {"ddetr-enc", "ddetr-dec-b4", "rtdetr"})
            for (const Pass pass : {Pass::forward, Pass::backward})
                for (const Type type : {Type::f32, Type::f16}) {
                    const Silicon silicon = test::silicon_for(capability);
                    const Problem p = problem_of(model_shape(id), pass, type);
                    jobs.push_back({test::compilers().back(), {canonical(p), p, default_config(p, silicon), silicon}});
                }
    for (const char* id : {"ddetr-enc", "ddetr-dec-b4"})
        for (const Pass pass : {Pass::forward, Pass::backward})
            for (const Reference reference : {Reference::points, Reference::boxes}) {
                const Silicon silicon = test::silicon_for(90);
                Problem p = problem_of(model_shape(id), pass, Type::f16);
                p.softmax = true;
                p.reference = reference;
                p.reference_levels = reference == Reference::boxes ? 1 : 4;
                p = normalise(p);
                jobs.push_back({test::compilers().back(), {canonical(p), p, default_config(p, silicon), silicon}});
            }
    jobs = test::slice_of(jobs, 5);
    int kernels = 0;
    for (const Compiled& result : compile_all(jobs)) {
        CAPTURE(result.form->name);
        CAPTURE(canonical(result.form->config));
        CAPTURE(result.form->silicon.capability);
        CHECK_MESSAGE(result.error.empty(), result.error);
        for (const KernelResources& kernel : result.code.kernels) {
            CAPTURE(kernel.name);
            CHECK(kernel.registers > 0);
            // In the backward ptxas spills a few address words outside the inner loops (at most 68 bytes seen, sm_80).
            // Of a fused forward, a word or two that outlive the points (8 bytes seen, at 48 registers).
            const Problem& p = result.form->problem;
            const std::int64_t allowed = p.pass == Pass::backward ? 96 : p.softmax ? 16 : 0;
            CHECK(kernel.spill_store_bytes <= allowed);
            CHECK(kernel.spill_load_bytes <= allowed);
            kernels++;
        }
    }
    CHECK(kernels >= static_cast<int>(jobs.size()));
}

TEST_SUITE_END();
