#include "runtime/c/boundary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <new>
#include <string>

#include "runtime/c/handles.hpp"

namespace msda::c {
namespace {

struct LastError {
    std::string message;
    std::string log;
};

LastError& last_error() noexcept {
    thread_local LastError error;
    return error;
}

// An error that cannot be told for want of memory is told by its status alone.
msda_status keep(msda_status status, const char* message, const std::string& log) noexcept {
    LastError& last = last_error();
    try {
        last.log = log;
        last.message = message;
    } catch (...) {
        last.log.clear();
        last.message.clear();
    }
    return status;
}

}  // namespace

msda_status keep_current_exception() noexcept {
    try {
        throw;
    } catch (const Error& error) {
        return keep(static_cast<msda_status>(error.code()), error.what(), error.log());
    } catch (const std::bad_alloc&) {
        return keep(MSDA_OUT_OF_MEMORY, "out of host memory", {});
    } catch (const std::exception& error) {
        return keep(MSDA_INTERNAL, error.what(), {});
    } catch (...) {
        return keep(MSDA_INTERNAL, "an exception of an unknown type", {});
    }
}

void require(const void* pointer, const char* name) {
    if (pointer == nullptr) throw Error(Code::invalid_argument, fmt::format("{}: expected an address, got null", name));
}

void check_struct(const void* given, std::size_t bytes, std::size_t known, const char* name) {
    if (bytes < sizeof bytes)
        throw Error(Code::invalid_argument,
                    fmt::format("{}.struct_size: expected the size of the struct, {} bytes in this library, got {}",
                                name, known, bytes));
    const auto* all = static_cast<const unsigned char*>(given);
    if (bytes > known && std::any_of(all + known, all + bytes, [](unsigned char byte) { return byte != 0; }))
        throw Error(Code::unsupported,
                    fmt::format("{}: uses a field that this library ({}, {} bytes) is too old for, got {} bytes", name,
                                version(), known, bytes));
}

}  // namespace msda::c

int32_t msda_abi_version(void) { return MSDA_ABI_VERSION; }
const char* msda_version(void) { return msda::version(); }
const char* msda_error_message(void) { return msda::c::last_error().message.c_str(); }
const char* msda_error_log(void) { return msda::c::last_error().log.c_str(); }

const char* msda_status_name(msda_status status) {
    switch (status) {
        case MSDA_OK:
            return "ok";
        case MSDA_INVALID_PROBLEM:
            return "invalid_problem";
        case MSDA_INVALID_ARGUMENT:
            return "invalid_argument";
        case MSDA_UNSUPPORTED:
            return "unsupported";
        case MSDA_NO_DRIVER:
            return "no_driver";
        case MSDA_NO_COMPILER:
            return "no_compiler";
        case MSDA_COMPILE_FAILED:
            return "compile_failed";
        case MSDA_DRIVER_FAILED:
            return "driver_failed";
        case MSDA_NOT_PREPARED:
            return "not_prepared";
        case MSDA_OUT_OF_MEMORY:
            return "out_of_memory";
        case MSDA_IO_FAILED:
            return "io_failed";
        case MSDA_BAD_FILE:
            return "bad_file";
        case MSDA_VERIFY_FAILED:
            return "verify_failed";
        case MSDA_INTERRUPTED:
            return "interrupted";
        case MSDA_INTERNAL:
            return "internal";
        default:
            return "unknown";
    }
}
