#include "client.h"

#include <string.h>

#include "msda/msda.h"

#define TEXT(x) #x
#define LINE(x) TEXT(x)
#define EXPECT(condition) \
    if (!(condition)) return "line " LINE(__LINE__) ": " #condition

// Two queries with one point each in the middle of a 2x2 map, one head of four channels.
static const int64_t shapes[] = {2, 2};
static const int64_t points[] = {1};

static msda_problem_fields small_fields(void) {
    msda_problem_fields fields = MSDA_PROBLEM_FIELDS_INIT;
    fields.batch = 1;
    fields.queries = 2;
    fields.heads = 1;
    fields.head_dim = 4;
    fields.level_count = 1;
    fields.level_shapes = shapes;
    fields.point_count = 1;
    fields.points = points;
    return fields;
}

static msda_status prepare(const msda_problem_fields* fields, msda_operator** prepared) {
    msda_problem* problem = NULL;
    msda_status status = msda_problem_create(fields, &problem);
    if (status == MSDA_OK) status = msda_prepare(NULL, problem, MSDA_CPU, NULL, prepared);
    msda_problem_destroy(problem);
    return status;
}

const char* msda_client_runs_forward(void) {
    float value[16], output[8];
    const float locations[] = {0.5f, 0.5f, 0.5f, 0.5f}, weights[] = {1.0f, 0.5f};
    const msda_problem_fields fields = small_fields();
    msda_operator* forward = NULL;
    msda_tensors tensors = MSDA_TENSORS_INIT;
    for (int i = 0; i < 16; i++) value[i] = (float)(i / 4);
    memset(output, 0xff, sizeof output);
    EXPECT(msda_abi_version() == MSDA_ABI_VERSION);
    EXPECT(prepare(&fields, &forward) == MSDA_OK);
    EXPECT(msda_operator_workspace_bytes(forward) == 0);
    tensors.value = value;
    tensors.locations = locations;
    tensors.weights = weights;
    tensors.output = output;
    EXPECT(msda_launch(forward, &tensors, NULL) == MSDA_OK);
    for (int i = 0; i < 8; i++) EXPECT(output[i] == (i < 4 ? 1.5f : 0.75f));
    msda_operator_destroy(forward);
    return NULL;
}

const char* msda_client_runs_backward(void) {
    float value[16], grad_output[8], grad_value[16], grad_weights[2];
    const float locations[] = {0.5f, 0.5f, 0.5f, 0.5f}, weights[] = {1.0f, 0.5f};
    msda_problem_fields fields = small_fields();
    msda_operator* backward = NULL;
    msda_tensors tensors = MSDA_TENSORS_INIT;
    for (int i = 0; i < 16; i++) value[i] = 2.0f;
    for (int i = 0; i < 8; i++) grad_output[i] = 1.0f;
    fields.pass = MSDA_BACKWARD;
    fields.gradients = MSDA_GRADIENT_VALUE | MSDA_GRADIENT_WEIGHT;
    EXPECT(prepare(&fields, &backward) == MSDA_OK);
    tensors.value = value;
    tensors.locations = locations;
    tensors.weights = weights;
    tensors.grad_output = grad_output;
    tensors.grad_value = grad_value;
    tensors.grad_weights = grad_weights;
    EXPECT(msda_launch(backward, &tensors, NULL) == MSDA_OK);
    for (int i = 0; i < 16; i++) EXPECT(grad_value[i] == 0.375f);
    EXPECT(grad_weights[0] == 8.0f && grad_weights[1] == 8.0f);
    msda_operator_destroy(backward);
    return NULL;
}

const char* msda_client_reads_errors(void) {
    const int64_t wrong_shapes[] = {-1, 2};
    msda_problem_fields fields = small_fields();
    msda_problem* problem = NULL;
    msda_operator* forward = NULL;
    msda_tensors tensors = MSDA_TENSORS_INIT;
    fields.level_shapes = wrong_shapes;
    EXPECT(msda_problem_create(&fields, &problem) == MSDA_INVALID_PROBLEM);
    EXPECT(problem == NULL);
    EXPECT(strcmp(msda_error_message(), "height of level 0: expected at least 1, got -1") == 0);
    EXPECT(strcmp(msda_status_name(MSDA_INVALID_PROBLEM), "invalid_problem") == 0);
    fields.level_shapes = shapes;
    EXPECT(prepare(&fields, &forward) == MSDA_OK);
    EXPECT(msda_launch(forward, &tensors, NULL) == MSDA_INVALID_ARGUMENT);
    EXPECT(strcmp(msda_error_message(), "value: expected an address, got null") == 0);
    EXPECT(strcmp(msda_error_log(), "") == 0);
    msda_operator_destroy(forward);
    return NULL;
}
