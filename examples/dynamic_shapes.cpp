// Sizes that change from call to call, as an inference server or a plugin of TensorRT or ONNX Runtime sees them: one
// bound of the workspace for the whole range, told before any size is known, and one family of kernels for all sizes.
// Usage: dynamic_shapes [cpu]
#include <msda/workspace.hpp>

#include <optional>

#include "decoder.hpp"

namespace {

// What a plugin keeps. docs/embedding.md says which method of TensorRT or ONNX Runtime calls which of these.
class Layer {
  public:
    // `largest`: the upper end of the range of every dimension.
    Layer(msda::Device device, msda::Problem largest) : device_(device), largest_(std::move(largest)) {
        largest_.specialise = msda::Specialise::family;
        largest_ = msda::normalise(largest_);
    }

    // Once, before the sizes are known. Needs no GPU.
    std::size_t workspace_bytes() const { return msda::workspace_bound(largest_); }

    // Whenever sizes change; never inside a stream capture. Quick where a size was seen before, or its kernels were.
    void resize(std::int64_t batch, std::int64_t queries, std::vector<msda::Level> levels) {
        msda::Problem problem = largest_;
        problem.batch = batch;
        problem.queries = queries;
        problem.levels = std::move(levels);
        problem.pixels = 0;
        prepared_.emplace(msda::Runtime::shared().prepare(problem, device_));
    }

    // Each call: nothing is compiled, allocated or waited for.
    void enqueue(msda::Tensors tensors, void* workspace, msda::Stream stream) const {
        tensors.workspace = workspace;
        prepared_->launch(tensors, stream);
    }

    const msda::Operator& prepared() const { return *prepared_; }

  private:
    msda::Device device_;
    msda::Problem largest_;
    std::optional<msda::Operator> prepared_;
};

struct Size {
    std::int64_t batch, queries;
    std::vector<msda::Level> levels;
};

bool runs(Layer& layer, const example::Place& place, const Size& size, example::Array& workspace) {
    layer.resize(size.batch, size.queries, size.levels);
    if (layer.prepared().workspace_bytes() > layer.workspace_bytes()) return false;
    example::Tensors tensors(place, layer.prepared().problem(), 3.0f);
    const example::Stream stream(place);
    layer.enqueue(tensors.get(), workspace.get(), stream.get());
    stream.wait();
    return tensors.output_is(3.0f);
}

}  // namespace

int main(int count, char** arguments) {
    const example::Place place(count > 1 ? arguments[1] : "");
    Layer layer(place.device(), example::decoder(4, 900, {{100, 167}, {50, 84}, {25, 42}, {13, 21}}));
    example::Array workspace(place, layer.workspace_bytes() / sizeof(float));
    bool right = true;
    for (const Size& size :
         {Size{1, 300, {{80, 80}, {40, 40}, {20, 20}, {10, 10}}},
          Size{4, 900, {{100, 167}, {50, 84}, {25, 42}, {13, 21}}}, Size{2, 17, {{7, 9}, {4, 5}, {2, 3}, {1, 2}}},
          Size{0, 300, {{80, 80}, {40, 40}, {20, 20}, {10, 10}}}})
        right = right && runs(layer, place, size, workspace);
    return example::verdict(place, right);
}
