#include "runtime/warnings.hpp"

#include <cstdio>
#include <utility>

namespace msda {

Warnings::Warnings(Sink sink) : sink_(std::move(sink)) {
    if (!sink_)
        sink_ = [](const std::string& message) { std::fprintf(stderr, "msda: warning: %s\n", message.c_str()); };
}

void Warnings::once(const std::string& topic, const std::string& message) noexcept {
    try {
        {
            const std::lock_guard lock(mutex_);
            if (!seen_.insert(topic).second) return;
        }
        sink_(message);
    } catch (...) {  // a sink that throws, or no memory for the text
    }
}

}  // namespace msda
