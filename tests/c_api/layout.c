// Where the fields of msda.h's structs are: a caller that was compiled against an older header must still find them there. New fields go to the end.
#include <stddef.h>
#include <stdint.h>

#include "msda/msda.h"

#define AT(type, field, offset) typedef char type##_##field##_at[offsetof(type, field) == (offset) ? 1 : -1]
#define VALUE(name, value) typedef char name##_is[(name) == (value) ? 1 : -1]

#if UINTPTR_MAX == 0xffffffffffffffff
AT(msda_options, cache_directory, 8);
AT(msda_options, nvrtc_library, 16);
AT(msda_options, driver_library, 24);
AT(msda_options, database, 32);
AT(msda_options, disk_cache, 40);
AT(msda_options, deterministic, 44);
AT(msda_options, tune_on_miss, 48);
AT(msda_options, cpu_threads, 52);
AT(msda_options, warn, 56);
AT(msda_options, user, 64);
AT(msda_options, tier_up, 72);
AT(msda_options, site_databases, 80);
AT(msda_options, packs, 88);

AT(msda_problem_fields, batch, 8);
AT(msda_problem_fields, queries, 16);
AT(msda_problem_fields, heads, 24);
AT(msda_problem_fields, head_dim, 32);
AT(msda_problem_fields, pixels, 40);
AT(msda_problem_fields, level_count, 48);
AT(msda_problem_fields, level_shapes, 56);
AT(msda_problem_fields, level_starts, 64);
AT(msda_problem_fields, point_count, 72);
AT(msda_problem_fields, points, 80);
AT(msda_problem_fields, value_strides, 88);
AT(msda_problem_fields, alignment, 112);
AT(msda_problem_fields, reference_levels, 120);
AT(msda_problem_fields, pillars, 128);
AT(msda_problem_fields, pass, 136);
AT(msda_problem_fields, value_type, 140);
AT(msda_problem_fields, location_type, 144);
AT(msda_problem_fields, weight_type, 148);
AT(msda_problem_fields, output_type, 152);
AT(msda_problem_fields, sampling, 156);
AT(msda_problem_fields, reference, 160);
AT(msda_problem_fields, softmax, 164);
AT(msda_problem_fields, gradients, 168);
AT(msda_problem_fields, accumulate, 172);
AT(msda_problem_fields, specialise, 176);

AT(msda_sizes, value, 8);
AT(msda_sizes, grad_value, 16);
AT(msda_sizes, locations, 24);
AT(msda_sizes, weights, 32);
AT(msda_sizes, output, 40);
AT(msda_sizes, references, 48);

AT(msda_prepare_options, config, 8);
AT(msda_prepare_options, has_stream, 16);
AT(msda_prepare_options, stream, 24);

AT(msda_tensors, value, 8);
AT(msda_tensors, locations, 16);
AT(msda_tensors, weights, 24);
AT(msda_tensors, references, 32);
AT(msda_tensors, scales, 40);
AT(msda_tensors, output, 48);
AT(msda_tensors, grad_output, 56);
AT(msda_tensors, grad_value, 64);
AT(msda_tensors, grad_locations, 72);
AT(msda_tensors, grad_weights, 80);
AT(msda_tensors, grad_references, 88);
AT(msda_tensors, workspace, 96);
#endif

VALUE(MSDA_ABI_VERSION, 1);
VALUE(MSDA_INVALID_PROBLEM, 1);
VALUE(MSDA_INVALID_ARGUMENT, 2);
VALUE(MSDA_UNSUPPORTED, 3);
VALUE(MSDA_NOT_PREPARED, 8);
VALUE(MSDA_INTERNAL, 255);
VALUE(MSDA_BACKWARD, 1);
VALUE(MSDA_F16, 1);
VALUE(MSDA_BF16, 2);
VALUE(MSDA_F64, 3);
VALUE(MSDA_E4M3, 4);
VALUE(MSDA_DETERMINISTIC, 3);
VALUE(MSDA_RTDETRV2_SQUARE, 3);
VALUE(MSDA_REFERENCE_PILLARS, 3);
VALUE(MSDA_GRADIENT_WEIGHT, 4);
VALUE(MSDA_FAMILY, 1);
VALUE(MSDA_CPU, -1);
VALUE(MSDA_CURRENT, -2);
VALUE(MSDA_EMULATED, -3);

// The file is checked as it compiles; this gives it something to define.
int msda_layout_is_checked(void);
int msda_layout_is_checked(void) { return 1; }
