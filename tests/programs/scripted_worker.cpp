// A worker process whose candidates misbehave by number: 3 reports a fault, 4 dies by SIGSEGV, 5 hangs, 6 exits, 7
// answers nonsense, 8 is wrong. The first argument "stillborn" ends it before it serves anything.
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string>

#include "msda/error.hpp"
#include "runtime/tuner/serve.hpp"
#include "tests/tuner/scripted_track.hpp"

namespace {

class Misbehaving final : public msda::test::ScriptedTrack {
  public:
    std::string verify(int candidate) override {
        if (candidate == 3) fault("CUDA_ERROR_ILLEGAL_ADDRESS");
        if (candidate == 4) {
            signal(SIGSEGV, SIG_DFL);  // a sanitizer's handler would turn the signal into an exit status
            raise(SIGSEGV);
        }
        if (candidate == 5) pause();
        if (candidate == 6) _exit(9);
        if (candidate == 7 && write(STDOUT_FILENO, "nonsense\n", 9) == 9) pause();
        return candidate == 8 ? "output: wrong" : "";
    }
    msda::Sample measure(int candidate, bool warm) override {
        msda::Sample sample = ScriptedTrack::measure(candidate, warm);
        if (candidate == 9) sample.us = {60, 60};
        return sample;
    }
};

}  // namespace

int main(int argc, char** argv) {
    if (argc > 1 && std::string(argv[1]) == "stillborn") return 4;
    Misbehaving track;
    return msda::serve(track, STDIN_FILENO, STDOUT_FILENO);
}
