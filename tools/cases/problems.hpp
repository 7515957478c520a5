// The problems that operators are checked on, the project's own in its tests and a learner's in the labs: small, odd,
// and between them every rule of the operator; and inputs that try to break them.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "msda/msda.hpp"
#include "msda/problem.hpp"

namespace msda::cases {

struct NamedProblem {
    std::string name;
    Problem problem;  // normalised
};
std::vector<NamedProblem> forward_problems();
std::vector<NamedProblem> backward_problems();

// Problems with fused softmax, references or both: every kind, every type, every sampling, exact and family.
std::vector<NamedProblem> fused_problems(Pass pass);

// A one-line problem: sizes, levels as {H, W}, points a level (one entry: all alike).
Problem problem_of(Pass pass, std::int64_t batch, std::int64_t queries, std::int64_t heads, std::int64_t head_dim,
                   const std::vector<Level>& levels, const std::vector<std::int64_t>& points, Type value,
                   Type location = Type::f32, Type weight = Type::f32);

// What the locations are and what the map holds.
// hostile: NaN, infinite, far-out and border locations among ordinary ones, and infinite pixels wherever no point has a
// corner. outside: no point takes part. contended: every point on one pixel's centre.
enum class Scene : std::uint8_t { model, uniform, hostile, outside, contended };
std::string name(Scene scene);

// Host tensors of one run, each exactly as long as its kernel may reach, and of exactly the alignment the problem
// states (never better). Outputs and workspace hold 0xff bytes.
class SceneTensors {
  public:
    SceneTensors(const Problem& problem, Scene scene, std::size_t workspace_bytes);
    const Tensors& tensors() const { return tensors_; }

  private:
    struct Free {
        void operator()(void* memory) const;
    };
    void* allocate(std::int64_t elements, std::size_t element_bytes, std::size_t alignment);
    const void* copy_of(const void* from, std::int64_t elements, Type type);
    void set_locations(const Problem& problem, Scene scene);
    void set_references(const Problem& problem, Scene scene);
    void spoil_logits(const Problem& problem);
    void spoil_pixels(const Problem& problem);

    std::vector<std::unique_ptr<void, Free>> memory_;
    std::size_t alignment_;
    Tensors tensors_;
};

}  // namespace msda::cases
