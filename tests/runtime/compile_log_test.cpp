#include "runtime/compile_log.hpp"

#include <doctest/doctest.h>

#include <array>

#include "runtime/digest.hpp"
#include "runtime/kernel_resources.hpp"

using namespace msda;

TEST_SUITE_BEGIN("runtime");

TEST_CASE("lesson 29: the whole log, and numbered lines around each error, each place once") {
    const std::array<SourceText, 2> sources = {
        SourceText{"msda.cu", "one\ntwo\nthree\nfour\nfive\nsix\nseven\neight\nnine\n"},
        SourceText{"forward.cuh", "alpha\nbeta"}};
    const std::string log =
        "msda.cu(5): error: bad five\n  five\n  ^\nmsda.cu(5): error: again\ntemplates/forward.cuh(2): error: bad "
        "beta\n"
        "msda.cu(1): warning #177-D: unused\n2 errors detected\n";
    const std::string text = explain_log(log, sources);
    CHECK(text.starts_with(log));
    CHECK(text.substr(log.size()) ==
          "\nmsda.cu:\n     2 | two\n     3 | three\n     4 | four\n>    5 | five\n     6 | six\n     7 | seven\n     "
          "8 | eight\n"
          "\nforward.cuh:\n     1 | alpha\n>    2 | beta\n");
    CHECK(explain_log("no place here: error\n(x): error", sources) == "no place here: error\n(x): error");
}

TEST_CASE("the assembler's report is read in both its forms") {
    const auto kernels = parse_resources(
        "ptxas info    : 0 bytes gmem\n"
        "ptxas info    : Compiling entry function 'k2' for 'sm_90'\n"
        "ptxas info    : Function properties for k2\n"
        "ptxas         .     800 bytes stack frame, 16 bytes spill stores, 24 bytes spill loads\n"
        "ptxas info    : Used 24 registers, used 1 barriers, 800 bytes cumulative stack size, 1024 bytes smem\n"
        "ptxas info    : Compiling entry function 'k' for 'sm_90'\n"
        "    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads\n"
        "ptxas info    : Used 10 registers, 380 bytes cmem[0]\n");
    REQUIRE(kernels.size() == 2);
    CHECK(kernels[0].name == "k");
    CHECK(kernels[0].registers == 10);
    CHECK(kernels[0].spill_store_bytes == 0);
    CHECK(kernels[1].name == "k2");
    CHECK(kernels[1].registers == 24);
    CHECK(kernels[1].stack_bytes == 800);
    CHECK(kernels[1].spill_store_bytes == 16);
    CHECK(kernels[1].spill_load_bytes == 24);
    CHECK(kernels[1].shared_bytes == 1024);
    CHECK(parse_resources("").empty());
}

TEST_CASE("digests tell fields apart and are the same everywhere") {
    CHECK(Digest().add("ab").add("c").hex() != Digest().add("a").add("bc").hex());
    CHECK(Digest().add(1).hex() != Digest().add(2).hex());
    CHECK(Digest().add("msda").add(7).hex() == "fb3548f3305f3ac9ce2cc10a2227fc83");
    CHECK(Digest().hex().size() == 32);
}

TEST_SUITE_END();
