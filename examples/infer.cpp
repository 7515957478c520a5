// Inference on tensors in files: reads value (B, S, M, D), locations (B, Q, M, L, P, 2) and weights (B, Q, M, L, P) as
// float32 .npy files, runs the operator on the GPU, or on the CPU where there is none, and writes the output (B, Q, M,
// D). Usage: infer VALUE.npy LOCATIONS.npy WEIGHTS.npy LEVELS OUTPUT.npy [cpu]     LEVELS as 100x167,50x84
#include <cstdio>
#include <sstream>
#include <string>

#include "npy.hpp"
#include "place.hpp"

namespace {

std::vector<msda::Level> parse_levels(const std::string& text) {
    std::vector<msda::Level> levels;
    std::istringstream in(text);
    for (std::string level; std::getline(in, level, ',');) {
        const std::size_t x = level.find('x');
        if (x == std::string::npos) throw std::runtime_error("levels: expected HEIGHTxWIDTH, got " + level);
        levels.push_back({std::stoll(level.substr(0, x)), std::stoll(level.substr(x + 1))});
    }
    return levels;
}

// What the files' shapes say; prepare() checks the rest and names what does not fit.
msda::Problem problem_of(const example::Npy& value, const example::Npy& locations, const std::string& levels) {
    if (value.shape.size() != 4 || locations.shape.size() != 6)
        throw std::runtime_error("expected a value of 4 dimensions and locations of 6");
    msda::Problem problem;
    problem.batch = value.shape[0];
    problem.pixels = value.shape[1];
    problem.heads = value.shape[2];
    problem.head_dim = value.shape[3];
    problem.queries = locations.shape[1];
    problem.levels = parse_levels(levels);
    problem.points = {locations.shape[4]};
    return problem;
}

void infer(char** files, const example::Place& place) {
    const example::Npy value = example::read_npy(files[0]), locations = example::read_npy(files[1]),
                       weights = example::read_npy(files[2]);
    const msda::Problem problem = problem_of(value, locations, files[3]);
    const msda::Sizes sizes = msda::sizes(msda::normalise(problem));
    if (sizes.locations != static_cast<std::int64_t>(locations.data.size()) ||
        sizes.weights != static_cast<std::int64_t>(weights.data.size()))
        throw std::runtime_error("locations or weights do not fit the levels");

    const msda::Operator forward = msda::Runtime::shared().prepare(problem, place.device());
    example::Array v(place, value.data), l(place, locations.data), w(place, weights.data);
    example::Array output(place, static_cast<std::size_t>(sizes.output));
    example::Array workspace(place, forward.workspace_bytes() / sizeof(float));
    const example::Stream stream(place);
    forward.launch({.value = v.get(),
                    .locations = l.get(),
                    .weights = w.get(),
                    .output = output.get(),
                    .workspace = workspace.get()},
                   stream.get());
    stream.wait();
    example::write_npy(files[4], {{problem.batch, problem.queries, problem.heads, problem.head_dim}, output.read()});
    std::printf("%s: %s, config from: %s\n", place.name(), files[4], forward.config_origin().c_str());
}

}  // namespace

int main(int count, char** arguments) {
    if (count < 6) {
        std::fprintf(stderr, "usage: infer VALUE.npy LOCATIONS.npy WEIGHTS.npy LEVELS OUTPUT.npy [cpu]\n");
        return 2;
    }
    try {
        infer(arguments + 1, example::Place(count > 6 ? arguments[6] : ""));
    } catch (const std::exception& error) {  // msda::Error is one
        std::fprintf(stderr, "infer: %s\n", error.what());
        return 1;
    }
    return 0;
}
