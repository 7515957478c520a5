// Host threads for one loop: started for the call, joined before it returns, so nothing survives a fork or a library
// unload.
#pragma once

#include <cstdint>
#include <functional>

namespace msda {

// Threads a loop may use: `wanted`, or all hardware threads when it is 0; never below 1.
int thread_count(int wanted);

// Calls body(begin, end, worker) over [0, count) in chunks of at most `grain`, handed out in order to whichever of
// `threads` workers is free; worker is in [0, threads). Which worker gets which chunk varies, so bodies must own what
// they write. The first exception of a body is rethrown once all workers have stopped. When the system gives fewer
// threads, fewer do the work.
void parallel_for(int threads, std::int64_t count, std::int64_t grain,
                  const std::function<void(std::int64_t begin, std::int64_t end, int worker)>& body);

}  // namespace msda
