// Warnings that reach the user once each: a library that repeats itself at every launch is soon silenced altogether.
#pragma once

#include <functional>
#include <mutex>
#include <set>
#include <string>

namespace msda {

// Thread-safe; never throws into the caller, since a warning must not turn into a failure.
class Warnings {
  public:
    using Sink = std::function<void(const std::string&)>;

    // Unset: one line a warning on stderr.
    explicit Warnings(Sink sink = {});

    // Hands `message` on unless one with the same `topic` was handed on before.
    void once(const std::string& topic, const std::string& message) noexcept;

  private:
    Sink sink_;
    std::mutex mutex_;
    std::set<std::string> seen_;
};

}  // namespace msda
