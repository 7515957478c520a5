// The one exception type of msda-jit: a code for programs, a sentence for people, and the log that explains it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>

namespace [[gnu::visibility("default")]] msda {

// What kind of thing went wrong; the numbers are part of the C ABI and of the command's exit codes, never renumber.
enum class Code : std::uint8_t {
    invalid_problem = 1,   // a shape, type or option outside the operator's rules
    invalid_argument = 2,  // a pointer, stream or option of one call
    unsupported = 3,       // right in itself, but not on this GPU, compiler or build
    no_driver = 4,         // libcuda missing, too old, or without a device
    no_compiler = 5,       // libnvrtc missing or too old
    compile_failed = 6,    // NVRTC refused the source; log() holds its whole log
    driver_failed = 7,     // a CUDA driver call returned an error
    not_prepared = 8,      // launched inside a stream capture without prepare()
    out_of_memory = 9,     // device or host memory
    io_failed = 10,        // a file the caller named cannot be read or written
    bad_file = 11,         // a file's content is damaged or of an unknown schema
    verify_failed = 12,    // a result differs from the reference
    interrupted = 13,      // stopped by a signal or a budget
};

// Thrown by every public function that can fail; nothing else leaves the library.
class Error : public std::runtime_error {
  public:
    // `message`: one sentence that names what was expected and what came.
    Error(Code code, const std::string& message, std::string log = {})
        : std::runtime_error(message), code_(code), log_(std::move(log)) {}

    Code code() const noexcept { return code_; }  // what kind of thing went wrong

    // The compiler's log with numbered source lines, the paths that were tried, or nothing.
    const std::string& log() const noexcept { return log_; }

  private:
    Code code_;
    std::string log_;
};

}  // namespace gnu::visibility("default")]]msda
