// Lab 00: your file. README.md says what to write. A stage counts as attempted once its LAB_TODO is gone.
#include "lab.cuh"

// One head of an attention layer: `queries` queries look at a map of `pixels` pixels, each a vector of `channels`
// floats. Return how many floats of the map are read in all.

// Dense attention: every query reads every pixel.
LAB_EXPORT long long dense_reads(long long queries, long long pixels, long long channels) {
    // >>> dense_reads
    LAB_TODO;
    return 0;
    // <<< dense_reads
}

// Deformable attention: every query looks at `points` places on each of `levels` maps, and a place lies between four
// pixels.
LAB_EXPORT long long deformable_reads(long long queries, long long levels, long long points, long long channels) {
    // >>> deformable_reads
    LAB_TODO;
    return 0;
    // <<< deformable_reads
}

// Turns `count` numbers into weights that are positive and sum to 1: weights[i] = exp(logits[i]) / sum of all exp.
// Right for logits of ±1000 too. exp_of(float) is e^x.
LAB_EXPORT void softmax(const float* logits, float* weights, int count) {
    // >>> softmax
    LAB_TODO;
    // <<< softmax
}

// The value of a line of `width` pixels at position x in 0..1, between the two nearest pixel centres, linearly. Pixel i
// has its centre at (i + 0.5) / width. Beyond either end of the line there are only zeros. floor_of(float) rounds down.
LAB_EXPORT float sample(const float* line, int width, float x) {
    // >>> sample
    LAB_TODO;
    return 0;
    // <<< sample
}

// One query of deformable attention on a line: softmax of the logits, then the sum of weight · sample over `points`
// positions. At most 64 points.
LAB_EXPORT float attend(const float* line, int width, const float* positions, const float* logits, int points) {
    // >>> attend
    LAB_TODO;
    return 0;
    // <<< attend
}
