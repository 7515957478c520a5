// One operator, four threads, each with a stream and tensors of its own: an Operator is prepared once and launched from
// all of them at once. On the CPU the threads launch without streams. Usage: streams [cpu]
#include <atomic>
#include <thread>

#include "decoder.hpp"

namespace {

constexpr int threads = 4, launches = 20;

bool serve(const example::Place& place, const msda::Operator& forward, int thread) {
    place.enter();
    const float everywhere = 1.0f + static_cast<float>(thread);
    example::Tensors tensors(place, forward.problem(), everywhere);
    const example::Stream stream(place);
    for (int i = 0; i < launches; i++) forward.launch(tensors.get(), stream.get());
    stream.wait();
    return tensors.output_is(everywhere);
}

}  // namespace

int main(int count, char** arguments) {
    const example::Place place(count > 1 ? arguments[1] : "");
    const msda::Operator forward = msda::Runtime::shared().prepare(example::decoder(), place.device());
    std::atomic<int> right = 0;
    std::vector<std::thread> team;
    for (int thread = 0; thread < threads; thread++)
        team.emplace_back([&, thread] { right += serve(place, forward, thread) ? 1 : 0; });
    for (std::thread& thread : team) thread.join();
    return example::verdict(place, right == threads);
}
