#include "runtime/driver.hpp"

#include <fmt/format.h>
#include <pthread.h>

#include <atomic>
#include <cstdlib>
#include <mutex>

namespace msda {
namespace {

constexpr int oldest_driver = 12000;

std::atomic<unsigned> forks{0};
std::atomic<bool> exiting{false};

// Registered after libcuda's own exit handlers (it was opened before), so this runs before them.
void watch_process() {
    static std::once_flag once;
    std::call_once(once, [] {
        ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
        std::atexit([] { exiting.store(true, std::memory_order_relaxed); });
    });
}

// The first function that the library lacks, or null.
const char* fill(Driver& driver, const LibraryLoader& loader, void* library) {
    const char* missing = nullptr;
    const auto take = [&](auto& call, bool required) {
        call.function = reinterpret_cast<decltype(call.function)>(loader.symbol(library, call.name));
        if (call.function == nullptr && required && missing == nullptr) missing = call.name;
    };
#define MSDA_DRIVER_TAKE(member, ...) take(driver.member, true);
    MSDA_DRIVER_FUNCTIONS(MSDA_DRIVER_TAKE)
#undef MSDA_DRIVER_TAKE
#define MSDA_DRIVER_TAKE(member, ...) take(driver.member, false);
    MSDA_DRIVER_OPTIONAL_FUNCTIONS(MSDA_DRIVER_TAKE)
#undef MSDA_DRIVER_TAKE
    return missing;
}

}  // namespace

std::string Driver::describe(CUresult result) const {
    const char* error = nullptr;
    const char* sentence = nullptr;
    if (get_error_name) get_error_name(result, &error);
    if (get_error_string) get_error_string(result, &sentence);
    return fmt::format("{} ({})", error != nullptr ? error : fmt::format("CUDA error {}", static_cast<int>(result)),
                       sentence != nullptr ? sentence : "no description");
}

void Driver::fail(const char* call, CUresult result) const {
    const Code code = result == CUDA_ERROR_OUT_OF_MEMORY ? Code::out_of_memory : Code::driver_failed;
    throw Error(code, fmt::format("{} failed: {}", call, describe(result)));
}

std::shared_ptr<const Driver> load_driver(const LibraryLoader& loader, const std::string& path, Attempts& attempts) {
    std::vector<std::string> names = {path};
    if (path.empty()) names = {"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
    for (const std::string& name : names) {
        Attempt& attempt =
            attempts.emplace_back(Attempt{name, path.empty() ? "dynamic linker" : "MSDA_DRIVER", "taken"});
        auto driver = std::make_shared<Driver>();
        driver->library = loader.open(name, false, attempt.outcome);
        if (driver->library == nullptr) continue;
        if (const char* missing = fill(*driver, loader, driver->library.get())) {
            attempt.outcome = fmt::format("too old, it has no {}; CUDA 12.0 or newer (driver 525) is needed", missing);
            continue;
        }
        const std::string file = loader.file_of(reinterpret_cast<const void*>(driver->init.function));
        driver->path = file.empty() ? name : file;
        try {
            start_driver(*driver);
        } catch (const Error& error) {
            attempt.outcome = error.what();
            throw Error(error.code(), error.what(), describe(attempts));
        }
        attempt.outcome = fmt::format("taken, CUDA {}.{}", driver->version / 1000, driver->version % 1000 / 10);
        return driver;
    }
    throw Error(Code::no_driver, "no usable CUDA driver (libcuda.so.1)", describe(attempts));
}

void start_driver(Driver& driver) {
    watch_process();
    if (const CUresult result = driver.init(0); result != CUDA_SUCCESS)
        throw Error(Code::no_driver, fmt::format("cuInit failed: {}", driver.describe(result)));
    driver.check(driver.driver_get_version, &driver.version);
    if (driver.version < oldest_driver)
        throw Error(Code::no_driver,
                    fmt::format("the CUDA driver is of CUDA {}.{}; 12.0 or newer (driver 525) is needed",
                                driver.version / 1000, driver.version % 1000 / 10));
    int devices = 0;
    driver.check(driver.device_get_count, &devices);
    if (devices == 0) throw Error(Code::no_driver, "the CUDA driver sees no device (cuDeviceGetCount: 0)");
}

bool driver_is_gone() noexcept { return exiting.load(std::memory_order_relaxed); }

unsigned fork_generation() noexcept { return forks.load(std::memory_order_relaxed); }

void check_not_forked(unsigned generation) {
    if (generation != fork_generation()) [[unlikely]]
        throw Error(Code::driver_failed,
                    "this process was forked after CUDA was started, and CUDA does not survive fork(); start workers "
                    "with exec (Python: the spawn start method) or fork before the first GPU call");
}

}  // namespace msda
