// What stands behind an Operator: a prepared problem on one kind of device.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "msda/msda.hpp"

namespace msda {

// What an Operator tells about itself.
struct Identity {
    Problem problem;  // normalised
    Config config;
    std::string config_origin;
    std::string source_digest;
};

// One prepared problem. Immutable but for atomics, so that any thread may launch it.
struct Operator::State {
    Identity identity;
    std::size_t workspace_bytes = 0;

    explicit State(Identity what) : identity(std::move(what)) {}
    virtual ~State() = default;
    virtual void launch(const Tensors& tensors, Stream stream) const = 0;
    // Operator::tier.
    virtual Specialise tier() const noexcept { return identity.problem.specialise; }
};

}  // namespace msda
