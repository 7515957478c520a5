#include "tests/fakes/faulty_files.hpp"

#include <algorithm>
#include <cerrno>

namespace msda::fakes {

void FaultyFiles::fail(const std::string& call, int error, int nth, int times) {
    const std::lock_guard lock(mutex_);
    faults_[call] = {error, uses_[call] + nth, times};
}

void FaultyFiles::fail_any(int error, int nth, int times) {
    const std::lock_guard lock(mutex_);
    any_ = {error, all_uses_ + nth, times};
    failed_.clear();
}

std::string FaultyFiles::failed() const {
    const std::lock_guard lock(mutex_);
    return failed_;
}

void FaultyFiles::fail_none() {
    const std::lock_guard lock(mutex_);
    faults_.clear();
    any_ = {};
}

void FaultyFiles::limit_writes(std::size_t bytes) {
    const std::lock_guard lock(mutex_);
    most_written_ = bytes;
}

int FaultyFiles::uses(const std::string& call) const {
    const std::lock_guard lock(mutex_);
    const auto found = uses_.find(call);
    return found == uses_.end() ? 0 : found->second;
}

int FaultyFiles::open_descriptors() const {
    const std::lock_guard lock(mutex_);
    return open_;
}

// Counts the use; the errno it shall fail with, or 0.
int FaultyFiles::enter(const std::string& call) {
    const std::lock_guard lock(mutex_);
    const int use = ++uses_[call];
    const int of_all = ++all_uses_;
    const auto hit = [](const Fault& fault, int at) { return at >= fault.nth && at < fault.nth + fault.times; };
    const auto found = faults_.find(call);
    int error = 0;
    if (found != faults_.end() && hit(found->second, use)) error = found->second.error;
    if (hit(any_, of_all)) error = any_.error;
    if (error != 0) failed_ = call;
    return error;
}

SystemCalls FaultyFiles::calls() {
    const SystemCalls real = SystemCalls::real();
    SystemCalls faulty;
    const auto guard = [this]<class Result, class... Arguments>(const char* name,
                                                                std::function<Result(Arguments...)> call) {
        return std::function<Result(Arguments...)>([this, name, call](Arguments... arguments) -> Result {
            if (const int error = enter(name)) {
                errno = error;
                return -1;
            }
            return call(arguments...);
        });
    };
    faulty.read = guard("read", real.read);
    faulty.fsync = guard("fsync", real.fsync);
    faulty.fstat = guard("fstat", real.fstat);
    faulty.lstat = guard("lstat", real.lstat);
    faulty.rename = guard("rename", real.rename);
    faulty.unlink = guard("unlink", real.unlink);
    faulty.mkdir = guard("mkdir", real.mkdir);
    faulty.list = guard("list", real.list);
    faulty.flock = guard("flock", real.flock);
    faulty.open = [this, open = guard("open", real.open)](const char* path, int flags, mode_t mode) {
        const int descriptor = open(path, flags, mode);
        const std::lock_guard lock(mutex_);
        open_ += descriptor >= 0;
        return descriptor;
    };
    faulty.write = [this, write = guard("write", real.write)](int descriptor, const void* bytes, std::size_t count) {
        std::size_t most = 0;
        {
            const std::lock_guard lock(mutex_);
            most = most_written_;
        }
        return write(descriptor, bytes, most == 0 ? count : std::min(most, count));
    };
    faulty.close = [this, close = real.close](int descriptor) {
        const int error = enter("close");
        const int result = close(descriptor);
        const std::lock_guard lock(mutex_);
        --open_;
        if (error == 0) return result;
        errno = error;
        return -1;
    };
    return faulty;
}

}  // namespace msda::fakes
