// A CUDA graph of six decoder layers: prepared first, captured once, replayed with new data in the same memory. Needs a
// GPU; exit status 77 without one.
#include "decoder.hpp"

namespace {

constexpr int layers = 6;

// Everything that compiles, loads or allocates comes before the capture; a launch does none of it.
void* capture(const cuda& driver, const msda::Operator& layer, std::vector<std::unique_ptr<example::Tensors>>& tensors,
              void* stream) {
    void *graph = nullptr, *executable = nullptr;
    CUDA_MUST(driver.begin_capture(stream, 0 /* CU_STREAM_CAPTURE_MODE_GLOBAL */));
    for (const auto& of_layer : tensors) layer.launch(of_layer->get(), stream);
    CUDA_MUST(driver.end_capture(stream, &graph));
    CUDA_MUST(driver.instantiate(&executable, graph, 0));
    CUDA_MUST(driver.graph_destroy(graph));
    return executable;
}

}  // namespace

int main() {
    const example::Place place;
    if (place.driver() == nullptr) {
        std::printf("no GPU here: a CUDA graph needs one\n");
        return 77;
    }
    const msda::Operator layer = msda::Runtime::shared().prepare(example::decoder(), place.device());
    std::vector<std::unique_ptr<example::Tensors>> tensors;
    for (int i = 0; i < layers; i++)
        tensors.push_back(std::make_unique<example::Tensors>(place, layer.problem(), 1.0f + static_cast<float>(i)));

    const example::Stream stream(place);
    void* const executable = capture(*place.driver(), layer, tensors, stream.get());
    bool right = true;
    for (int replay = 0; replay < 3; replay++) {
        for (int i = 0; i < layers; i++) {
            const float everywhere = 1.0f + static_cast<float>(i + 10 * replay);
            tensors[i]->value.write(example::Tensors::filled(tensors[i]->sizes.value, everywhere));
        }
        CUDA_MUST(place.driver()->graph_launch(executable, stream.get()));
        stream.wait();
        for (int i = 0; i < layers; i++)
            right = right && tensors[i]->output_is(1.0f + static_cast<float>(i + 10 * replay));
    }
    CUDA_MUST(place.driver()->executable_destroy(executable));
    return example::verdict(place, right);
}
