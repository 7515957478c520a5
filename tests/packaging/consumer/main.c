/* A forward on the CPU and an error through the C interface: what crosses the border of a library. */
#include <stdio.h>
#include <string.h>

#include "msda/msda.h"

static int forward_is_right(void) {
    const int64_t shapes[] = {2, 2}, points[] = {1};
    const float locations[] = {0.5f, 0.5f, 0.5f, 0.5f}, weights[] = {1.0f, 0.5f};
    float value[16], output[8];
    msda_problem_fields fields = MSDA_PROBLEM_FIELDS_INIT;
    msda_tensors tensors = MSDA_TENSORS_INIT;
    msda_problem* problem = NULL;
    msda_operator* forward = NULL;
    int right, i;
    for (i = 0; i < 16; i++) value[i] = 3.0f;
    fields.batch = 1;
    fields.queries = 2;
    fields.heads = 1;
    fields.head_dim = 4;
    fields.level_count = 1;
    fields.level_shapes = shapes;
    fields.point_count = 1;
    fields.points = points;
    tensors.value = value;
    tensors.locations = locations;
    tensors.weights = weights;
    tensors.output = output;
    right = msda_problem_create(&fields, &problem) == MSDA_OK &&
            msda_prepare(NULL, problem, MSDA_CPU, NULL, &forward) == MSDA_OK && msda_launch(forward, &tensors, NULL) == MSDA_OK;
    for (i = 0; i < 8; i++) right = right && output[i] == (i < 4 ? 3.0f : 1.5f);
    msda_operator_destroy(forward);
    msda_problem_destroy(problem);
    return right;
}

static int error_is_told(void) {
    msda_problem* problem = NULL;
    return msda_problem_parse("nonsense", &problem) == MSDA_INVALID_PROBLEM && strstr(msda_error_message(), "nonsense") != NULL;
}

int main(void) {
    if (msda_abi_version() != MSDA_ABI_VERSION || !forward_is_right() || !error_is_told()) return 1;
    printf("msda %s from C\n", msda_version());
    return 0;
}
