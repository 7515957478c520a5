// The operator from plain C99: one decoder-like problem, on the GPU where there is one, else on the CPU. All values are 2 and each query's
// weights add up to 1, so every output must be 2.
// Usage: forward [cpu]
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda.h"
#include <msda/msda.h>

enum { batch = 1, queries = 100, heads = 8, head_dim = 32, levels = 2, points = 4 };

static void must(msda_status status) {
    if (status == MSDA_OK) return;
    fprintf(stderr, "%s: %s\n%s", msda_status_name(status), msda_error_message(), msda_error_log());
    exit(1);
}

// Memory of `count` floats, all `value`: on the GPU when `gpu` is not null, else on the host. Nothing here frees it: the program ends soon.
static void* filled(const cuda* gpu, int64_t count, float value) {
    float* host = malloc((size_t)count * sizeof *host);
    cuda_address address = 0;
    if (host == NULL) exit(1);
    for (int64_t i = 0; i < count; i++) host[i] = value;
    if (gpu == NULL) return host;
    CUDA_MUST(gpu->allocate(&address, (size_t)count * sizeof *host));
    CUDA_MUST(gpu->to_device(address, host, (size_t)count * sizeof *host));
    free(host);
    return (void*)(size_t)address;
}

static msda_operator* prepare(msda_device device, msda_sizes* sizes) {
    const int64_t shapes[] = {20, 30, 10, 15}, counts[] = {points};
    msda_problem_fields fields = MSDA_PROBLEM_FIELDS_INIT;
    msda_problem* problem = NULL;
    msda_operator* forward = NULL;
    fields.batch = batch;
    fields.queries = queries;
    fields.heads = heads;
    fields.head_dim = head_dim;
    fields.level_count = levels;
    fields.level_shapes = shapes;
    fields.point_count = 1;
    fields.points = counts;
    must(msda_problem_create(&fields, &problem));
    must(msda_problem_sizes(problem, sizes));
    must(msda_prepare(NULL, problem, device, NULL, &forward));
    msda_problem_destroy(problem);
    return forward;
}

int main(int count, char** arguments) {
    cuda driver;
    const int host = count > 1 && strcmp(arguments[1], "cpu") == 0;
    const cuda* gpu = !host && cuda_open(&driver) ? &driver : NULL;
    msda_sizes sizes = MSDA_SIZES_INIT;
    msda_tensors tensors = MSDA_TENSORS_INIT;
    msda_operator* forward = prepare(gpu != NULL ? 0 : MSDA_CPU, &sizes);
    float* output = malloc((size_t)sizes.output * sizeof *output);
    float largest = 0;

    if (output == NULL) return 1;
    tensors.value = filled(gpu, sizes.value, 2.0f);
    tensors.locations = filled(gpu, sizes.locations, 0.5f);
    tensors.weights = filled(gpu, sizes.weights, 1.0f / (levels * points));
    tensors.output = filled(gpu, sizes.output, -1.0f);
    must(msda_launch(forward, &tensors, NULL));
    if (gpu != NULL)
        CUDA_MUST(gpu->to_host(output, (cuda_address)(size_t)tensors.output, (size_t)sizes.output * sizeof *output));
    else
        memcpy(output, tensors.output, (size_t)sizes.output * sizeof *output);
    for (int64_t i = 0; i < sizes.output; i++) largest = fmaxf(largest, fabsf(output[i] - 2.0f));
    printf("%s: %s, largest error %g\n", gpu != NULL ? "gpu 0" : "cpu", largest < 1e-5f ? "right" : "WRONG", largest);
    msda_operator_destroy(forward);
    return largest < 1e-5f ? 0 : 1;
}
