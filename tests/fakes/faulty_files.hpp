// File system calls that fail on demand: any call, at its n-th use, with any errno; short writes and interruptions.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "tuning_db/file_system.hpp"

namespace msda::fakes {

// The real calls with faults in between. Copies of calls() share this object's faults; it must outlive them.
// Thread-safe.
class FaultyFiles {
  public:
    // From the `nth` use of a call ("open", "read", "write", "fsync", "close", "fstat", "lstat", "rename", "unlink",
    // "mkdir", "list", "flock") on, `times` uses fail with `error`. Those that a failure would leak (close) still
    // happen.
    void fail(const std::string& call, int error, int nth = 1, int times = 1);
    // From the `nth` call of any kind on, counted from now, `times` calls fail with `error`.
    void fail_any(int error, int nth, int times = 1);
    // The call that an armed failure hit last, empty when none did.
    std::string failed() const;
    void fail_none();
    // Writes take at most this many bytes each; 0: no limit.
    void limit_writes(std::size_t bytes);

    int uses(const std::string& call) const;
    int open_descriptors() const;
    SystemCalls calls();

  private:
    struct Fault {
        int error = 0;
        int nth = 0;
        int times = 0;
    };
    int enter(const std::string& call);

    mutable std::mutex mutex_;
    std::map<std::string, Fault> faults_;
    std::map<std::string, int> uses_;
    Fault any_;
    int all_uses_ = 0;
    std::string failed_;
    std::size_t most_written_ = 0;
    int open_ = 0;
};

}  // namespace msda::fakes
