// Lab 00: the reference solution.
#include "lab.cuh"

// One head of an attention layer: `queries` queries look at a map of `pixels` pixels, each a vector of `channels`
// floats. Return how many floats of the map are read in all.

// Dense attention: every query reads every pixel.
LAB_EXPORT long long dense_reads(long long queries, long long pixels, long long channels) {
    // >>> dense_reads
    return queries * pixels * channels;
    // <<< dense_reads
}

// Deformable attention: every query looks at `points` places on each of `levels` maps, and a place lies between four
// pixels.
LAB_EXPORT long long deformable_reads(long long queries, long long levels, long long points, long long channels) {
    // >>> deformable_reads
    return queries * levels * points * 4 * channels;
    // <<< deformable_reads
}

// Turns `count` numbers into weights that are positive and sum to 1: weights[i] = exp(logits[i]) / sum of all exp.
// Right for logits of ±1000 too. exp_of(float) is e^x.
LAB_EXPORT void softmax(const float* logits, float* weights, int count) {
    // >>> softmax
    float largest = logits[0], sum = 0;
    for (int i = 1; i < count; i++)
        if (logits[i] > largest) largest = logits[i];
    for (int i = 0; i < count; i++) {
        weights[i] = exp_of(logits[i] - largest);
        sum += weights[i];
    }
    for (int i = 0; i < count; i++) weights[i] /= sum;
    // <<< softmax
}

// The value of a line of `width` pixels at position x in 0..1, between the two nearest pixel centres, linearly. Pixel i
// has its centre at (i + 0.5) / width. Beyond either end of the line there are only zeros. floor_of(float) rounds down.
LAB_EXPORT float sample(const float* line, int width, float x) {
    // >>> sample
    const float position = x * static_cast<float>(width) - 0.5f;
    if (!(position > -1 && position < static_cast<float>(width))) return 0;
    const int left = static_cast<int>(floor_of(position));
    const float fraction = position - floor_of(position);
    float sum = 0;
    if (left >= 0) sum += (1 - fraction) * line[left];
    if (left + 1 < width) sum += fraction * line[left + 1];
    return sum;
    // <<< sample
}

// One query of deformable attention on a line: softmax of the logits, then the sum of weight · sample over `points`
// positions. At most 64 points.
LAB_EXPORT float attend(const float* line, int width, const float* positions, const float* logits, int points) {
    // >>> attend
    float weights[64], sum = 0;
    softmax(logits, weights, points);
    for (int i = 0; i < points; i++) sum += weights[i] * sample(line, width, positions[i]);
    return sum;
    // <<< attend
}
