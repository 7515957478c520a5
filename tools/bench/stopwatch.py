"""GPU times as replays of a CUDA graph over rotating inputs, and the host's cost of an eager call; on a CPU plain wall time."""
import math
import statistics
import time

import torch

PRECISION = 0.005  # stop once the standard error of the median is below this share of it
FEWEST, MOST = 5, 60  # batches
SECONDS = 3  # that one timing may take beyond its fewest batches


class Timing:
    """Median and median absolute deviation over batches, in µs a call. `how`: "graph", "stream" (it could not be captured) or "cpu"."""

    def __init__(self, samples, how):
        self.how, self.batches = how, len(samples)
        self.median_us = statistics.median(samples)
        self.mad_us = statistics.median(abs(sample - self.median_us) for sample in samples)


def enough(samples):
    if len(samples) < FEWEST:
        return False
    middle = statistics.median(samples)
    deviation = 1.4826 * statistics.median(abs(sample - middle) for sample in samples)
    return 1.2533 * deviation / math.sqrt(len(samples)) <= PRECISION * middle


def repeat(batch, how):
    """`batch` returns µs a call; its first run warms up and does not count."""
    batch()
    samples, until = [], time.monotonic() + SECONDS
    while not enough(samples) and (len(samples) < FEWEST or (len(samples) < MOST and time.monotonic() < until)):
        samples.append(batch())
    return Timing(samples, how)


def time_on_cpu(calls):
    def batch():
        begin = time.perf_counter()
        for call in calls:
            call()
        return 1e6 * (time.perf_counter() - begin) / len(calls)

    return repeat(batch, "cpu")


def time_on_gpu(stream, calls):
    """Each of `calls` works on inputs of its own, one after the other: what it reads has left the L2 when its turn comes again, if together
    they are large enough. `stream` is current."""
    begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)

    def batch(enqueue):
        begin.record(stream)
        enqueue()
        end.record(stream)
        end.synchronize()
        return 1e3 * begin.elapsed_time(end) / len(calls)

    def eagerly():
        for call in calls:
            call()

    eagerly()  # compiles and allocates whatever a first call does
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, stream=stream):
            eagerly()
    except RuntimeError:  # it waits for the GPU somewhere
        torch.cuda.synchronize()
        return repeat(lambda: batch(eagerly), "stream")
    return repeat(lambda: batch(graph.replay), "graph")


def host_us(call, synchronize, calls=8, rounds=9):
    """µs of host time of one eager call: few enough at once that the GPU's queue never fills."""
    samples = []
    for _ in range(rounds):
        synchronize()
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        samples.append(1e6 * (time.perf_counter() - begin) / calls)
    synchronize()
    return statistics.median(samples[1:])
