// The border between C++ and C: exceptions become a status and a thread's last error, structs of any age become ours.
#pragma once

#include <cstddef>
#include <cstring>

#include "msda/error.hpp"
#include "msda/msda.h"

namespace msda::c {

// Keeps the exception being handled as the calling thread's last error. Call it in a catch clause only.
msda_status keep_current_exception() noexcept;

// Runs `body` and returns MSDA_OK, or what became of the exception it threw.
template <class Body>
msda_status guarded(Body&& body) noexcept {
    try {
        body();
        return MSDA_OK;
    } catch (...) {
        return keep_current_exception();
    }
}

// Throws Error(invalid_argument) "name: expected an address, got null".
void require(const void* pointer, const char* name);

// Throws Error where `bytes` bytes cannot be a struct of that name: too few for struct_size itself, or, when they are more than the `known`
// that this library knows, not all zero behind these.
void check_struct(const void* given, std::size_t bytes, std::size_t known, const char* name);

// A caller's struct in this library's size, zeros where the caller knows less.
template <class Struct>
Struct read_struct(const Struct* given, const char* name) {
    require(given, name);
    Struct ours{};
    const std::size_t bytes = given->struct_size;
    check_struct(given, bytes, sizeof ours, name);
    std::memcpy(&ours, given, bytes < sizeof ours ? bytes : sizeof ours);
    return ours;
}

}  // namespace msda::c
