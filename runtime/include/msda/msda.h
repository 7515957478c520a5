// The C interface of msda-jit: multi-scale deformable attention prepared once, launched as often as you like, from C99 or any language that
// calls C. It is the C++ interface (msda/msda.hpp) behind opaque handles; no CUDA header is needed: a stream is a void*.
//
// - Every function that can fail returns an msda_status; msda_error_message() and msda_error_log() tell the rest. Nothing is thrown.
// - All functions may be called from any thread, on the same handle too; only a handle's destruction must come after its last use.
// - Structs start with struct_size; what a caller built against an older header does not know counts as zero, and zero always means the
//   default. Initialise them with zeros and struct_size (the MSDA_..._INIT macros).
#ifndef MSDA_MSDA_H
#define MSDA_MSDA_H

#include <stddef.h>
#include <stdint.h>

// Marks what the library exports; all else is hidden.
#if defined(__GNUC__)
#define MSDA_API __attribute__((visibility("default")))
#else
#define MSDA_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

// The version of this binary interface. It grows only when something that was there changes; additions keep it.
#define MSDA_ABI_VERSION 1

// What became of a call; the numbers are those of msda::Code.
typedef int32_t msda_status;
enum {
    MSDA_OK = 0,
    MSDA_INVALID_PROBLEM = 1,   // a shape, type or option outside the operator's rules
    MSDA_INVALID_ARGUMENT = 2,  // a pointer, stream, handle or option of one call
    MSDA_UNSUPPORTED = 3,       // right in itself, but not on this GPU, compiler or build
    MSDA_NO_DRIVER = 4,         // libcuda missing, too old, or without a device
    MSDA_NO_COMPILER = 5,       // libnvrtc missing or too old
    MSDA_COMPILE_FAILED = 6,    // NVRTC refused the source; msda_error_log() holds its whole log
    MSDA_DRIVER_FAILED = 7,     // a CUDA driver call returned an error
    MSDA_NOT_PREPARED = 8,      // prepared inside a stream capture, which stays valid
    MSDA_OUT_OF_MEMORY = 9,     // device or host memory
    MSDA_IO_FAILED = 10,        // a file the caller named cannot be read or written
    MSDA_BAD_FILE = 11,         // a file's content is damaged or of an unknown schema
    MSDA_VERIFY_FAILED = 12,    // a result differs from the reference
    MSDA_INTERRUPTED = 13,      // stopped by a signal or a budget
    MSDA_INTERNAL = 255         // an exception that should not have been
};

// MSDA_ABI_VERSION of the library that is loaded; compare it with the header's before anything else.
MSDA_API int32_t msda_abi_version(void);
// "major.minor.patch" of the library.
MSDA_API const char* msda_version(void);
// The name of a status, "invalid_problem"; of an unknown one "unknown".
MSDA_API const char* msda_status_name(msda_status status);
// The sentence of the calling thread's last failed call, which names what was expected and what came; "" before the first. Valid until the
// thread's next failed call.
MSDA_API const char* msda_error_message(void);
// The compiler's log with numbered source lines, the paths that were tried, or "". Valid as msda_error_message().
MSDA_API const char* msda_error_log(void);
// Frees a text that a function returned through a char**. Null is allowed.
MSDA_API void msda_free_text(char* text);

// The compiler, the caches and the loaded modules of one process. Wherever one is asked for, null is the process's shared runtime, which is
// made at its first use with the settings of the environment.
typedef struct msda_runtime msda_runtime;

// Three states of a switch whose zero leaves the decision to the environment.
enum { MSDA_DEFAULT = 0, MSDA_ON = 1, MSDA_OFF = 2 };

// Settings of a runtime; what is zero comes from the environment (docs/environment.md). Texts are copied.
typedef struct msda_options {
    size_t struct_size;           // sizeof(msda_options)
    const char* cache_directory;  // of compiled kernels
    const char* nvrtc_library;    // a path; no other is tried
    const char* driver_library;   // a path
    const char* database;         // a tuning database that alone decides
    int32_t disk_cache;           // MSDA_ON, MSDA_OFF
    int32_t deterministic;        // MSDA_ON, MSDA_OFF: configs from the heuristic alone
    int32_t tune_on_miss;         // MSDA_ON, MSDA_OFF
    int32_t cpu_threads;          // threads of the CPU path
    void (*warn)(const char* message, void* user);  // receives each warning once, from any thread; null: one line on stderr
    void* user;                   // handed to warn
    int32_t tier_up;              // MSDA_ON, MSDA_OFF: new shapes run at once, their own kernel is compiled in the background
    int32_t reserved;             // 0
    const char* site_databases;   // directories of tuning databases, separated by ':'; the first wins
    const char* packs;            // files of `msda pack`, separated by ':'; the first wins
} msda_options;
// Initialises a msda_options.
#define MSDA_OPTIONS_INIT {sizeof(msda_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// Makes a runtime of its own. `options` null: all from the environment.
MSDA_API msda_status msda_runtime_create(const msda_options* options, msda_runtime** runtime);
// Operators that were prepared by it stay usable. Null is allowed.
MSDA_API void msda_runtime_destroy(msda_runtime* runtime);
// 1 when a CUDA driver with at least one device is there and the environment's settings can be read, else 0.
MSDA_API int32_t msda_runtime_has_gpu(msda_runtime* runtime);
// Each library path tried and what came of it, versions, devices, the cache; free it with msda_free_text().
MSDA_API msda_status msda_runtime_doctor(msda_runtime* runtime, char** text);
// Waits until nothing is left to compile in the background, as under tier_up before a graph is captured, which keeps the kernels that were
// current then. Returns at once where nothing tiers up.
MSDA_API msda_status msda_runtime_settle(msda_runtime* runtime);

// What is to be computed.
typedef struct msda_problem msda_problem;

// pass
enum { MSDA_FORWARD = 0, MSDA_BACKWARD = 1 };
// Element types; E4M3 for the value of a forward only.
enum { MSDA_F32 = 0, MSDA_F16 = 1, MSDA_BF16 = 2, MSDA_F64 = 3, MSDA_E4M3 = 4 };
// accumulate: how grad_value is summed (in its own type; in f32, rounded once; bit-equal from run to run).
enum { MSDA_AUTOMATIC = 0, MSDA_NATIVE = 1, MSDA_SUM_F32 = 2, MSDA_DETERMINISTIC = 3 };
// sampling
enum { MSDA_BILINEAR = 0, MSDA_NEAREST = 1, MSDA_RTDETRV2 = 2, MSDA_RTDETRV2_SQUARE = 3 };
// reference: where locations come from; NONE: they are given as they are, else `locations` holds offsets.
enum { MSDA_NO_REFERENCE = 0, MSDA_REFERENCE_POINTS = 1, MSDA_REFERENCE_BOXES = 2, MSDA_REFERENCE_PILLARS = 3 };
// gradients: a sum of these; 0 stands for all three.
enum { MSDA_GRADIENT_VALUE = 1, MSDA_GRADIENT_LOCATION = 2, MSDA_GRADIENT_WEIGHT = 4 };
// specialise: EXACT makes sizes constants of the kernel; FAMILY makes batch, queries and level sizes launch arguments, so that problems
// that differ only in these share compiled code.
enum { MSDA_EXACT = 0, MSDA_FAMILY = 1 };

// The fields of a problem. Tensors are dense, innermost dimension last, except value, whose strides are free:
//   value (B, S, M, D) · locations (B, Q, M, sum of P, 2) · weights (B, Q, M, sum of P) · output (B, Q, M, D)
typedef struct msda_problem_fields {
    size_t struct_size;           // sizeof(msda_problem_fields)
    int64_t batch;                // B >= 0
    int64_t queries;              // Q >= 0
    int64_t heads;                // M >= 1
    int64_t head_dim;             // D >= 1
    int64_t pixels;               // S; 0: the end of the last level in memory
    int64_t level_count;          // L >= 1
    const int64_t* level_shapes;  // (L, 2): height, width
    const int64_t* level_starts;  // (L): first pixel in S; null: each level follows the one before
    int64_t point_count;          // entries of points: L, or 1 for all levels alike
    const int64_t* points;        // points of each level, >= 1
    int64_t value_strides[3];     // elements between images, pixels, heads; all 0: dense
    int64_t alignment;            // bytes: the lowest alignment of the tensors' addresses, 1 to 16; 0: 16
    int64_t reference_levels;     // 1 or L, with points or boxes
    int64_t pillars;              // Z, with pillars
    int32_t pass;           // MSDA_FORWARD, MSDA_BACKWARD
    int32_t value_type;     // also of both its gradients and, unless e4m3, of the output
    int32_t location_type;  // f32 or the value's type
    int32_t weight_type;    // f32 or the value's type
    int32_t output_type;    // with e4m3 values: f16 or bf16; else the value's type, or 0 for it
    int32_t sampling;       // MSDA_BILINEAR, ...
    int32_t reference;      // MSDA_NO_REFERENCE, ...
    int32_t softmax;        // 1: weights are logits, softmax over all points inside the kernel
    int32_t gradients;      // of a backward: MSDA_GRADIENT_VALUE | ...
    int32_t accumulate;     // of a backward that computes grad_value: MSDA_AUTOMATIC, ...
    int32_t specialise;     // MSDA_EXACT, MSDA_FAMILY
    int32_t reserved;       // 0
} msda_problem_fields;
// Initialises a msda_problem_fields.
#define MSDA_PROBLEM_FIELDS_INIT \
    {sizeof(msda_problem_fields), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0, 0, 0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// Checks and copies the fields. MSDA_INVALID_PROBLEM names the field with what was expected and what came.
MSDA_API msda_status msda_problem_create(const msda_problem_fields* fields, msda_problem** problem);
// Reads what msda_problem_text() gives.
MSDA_API msda_status msda_problem_parse(const char* text, msda_problem** problem);
// Null is allowed.
MSDA_API void msda_problem_destroy(msda_problem* problem);
// One line that names every field, the key of caches and databases. Lives as long as the problem.
MSDA_API const char* msda_problem_text(const msda_problem* problem);

// Elements of each tensor, 0 for an empty one.
typedef struct msda_sizes {
    size_t struct_size;  // sizeof(msda_sizes)
    int64_t value;       // from the first to the last, strides counted in
    int64_t grad_value;  // dense: batch * pixels * heads * head_dim
    int64_t locations;   // also of grad_locations
    int64_t weights;     // also of grad_weights
    int64_t output;      // also of grad_output
    int64_t references;  // also of grad_references
} msda_sizes;
// Initialises a msda_sizes.
#define MSDA_SIZES_INIT {sizeof(msda_sizes), 0, 0, 0, 0, 0, 0}
// Fills the sizes that the caller's struct knows.
MSDA_API msda_status msda_problem_sizes(const msda_problem* problem, msda_sizes* sizes);

// Bytes of workspace that suffice for every problem that differs from `largest` only by a batch, queries, pixels and level sizes that are
// no larger. `config`: for that config (msda_operator_config()); null: for any config. Pure arithmetic: needs no GPU.
MSDA_API msda_status msda_workspace_bound(const msda_problem* largest, const char* config, size_t* bytes);

// A prepared problem: its kernels are compiled and loaded.
typedef struct msda_operator msda_operator;

// CUDA's device number, or one of these. CPU: threaded host code on host pointers. CURRENT: the GPU whose context is current on the calling
// thread. EMULATED: the GPU's own kernels run on the host, slowly.
typedef int32_t msda_device;
enum { MSDA_CPU = -1, MSDA_CURRENT = -2, MSDA_EMULATED = -3 };

// How to prepare; all zero is usual.
typedef struct msda_prepare_options {
    size_t struct_size;  // sizeof(msda_prepare_options)
    const char* config;  // how to compute, as msda_operator_config() gives it; null: the best that is known
    int32_t has_stream;  // 1: `stream` is where the operator will be launched
    int32_t reserved;    // 0
    void* stream;        // with has_stream: while it is captured, a problem that is not prepared yet is refused with MSDA_NOT_PREPARED
} msda_prepare_options;
// Initialises a msda_prepare_options.
#define MSDA_PREPARE_OPTIONS_INIT {sizeof(msda_prepare_options), 0, 0, 0, 0}

// Compiles and loads the kernels of a problem, or finds them in a cache: slow the first time, a look-up for a problem that it knows. On a GPU
// it uses the caller's current context if that belongs to the device, else the device's primary context. `options` may be null.
MSDA_API msda_status msda_prepare(msda_runtime* runtime, const msda_problem* problem, msda_device device,
                                  const msda_prepare_options* options, msda_operator** prepared);
// Launches that were enqueued go on. Null is allowed.
MSDA_API void msda_operator_destroy(msda_operator* prepared);
// The problem as msda_problem_text() gives it. This text and the next three live as long as the operator.
MSDA_API const char* msda_operator_problem(const msda_operator* prepared);
// The config, "tile_width=16 tile_height=0 ...".
MSDA_API const char* msda_operator_config(const msda_operator* prepared);
// Where the config came from: "given", "exact", "nearest", "family" (database) or "heuristic".
MSDA_API const char* msda_operator_config_origin(const msda_operator* prepared);
// A digest of the emitted source, stable across machines.
MSDA_API const char* msda_operator_source_digest(const msda_operator* prepared);
// What a launch would run now: MSDA_EXACT, or MSDA_FAMILY for such a problem and, under tier_up, while the kernel of the very shape (whose
// config and digest are told above) is not loaded.
MSDA_API int32_t msda_operator_tier(const msda_operator* prepared);
// Bytes that msda_launch() needs in msda_tensors.workspace; fixed for the life of the operator.
MSDA_API size_t msda_operator_workspace_bytes(const msda_operator* prepared);

// The addresses of one call: device memory on a GPU, else host memory; all owned by the caller. What the problem does not use may stay
// null; what it uses must not, unless the tensor is empty.
typedef struct msda_tensors {
    size_t struct_size;       // sizeof(msda_tensors)
    const void* value;        // (B, S, M, D)
    const void* locations;    // (B, Q, M, sum of P, 2); offsets when the problem has references
    const void* weights;      // (B, Q, M, sum of P); logits when the problem fuses the softmax
    const void* references;   // (B, Q, L or 1 (or Z), 2 or 4), of the locations' type
    const void* scales;       // (M) f32, with e4m3 values
    void* output;             // (B, Q, M, D), forward
    const void* grad_output;  // (B, Q, M, D), backward
    void* grad_value;         // dense (B, S, M, D); every element is written
    void* grad_locations;     // as locations
    void* grad_weights;       // as weights
    void* grad_references;    // as references; may be null where they do not train
    void* workspace;          // msda_operator_workspace_bytes() bytes, 256-byte aligned, any content
} msda_tensors;
// Initialises a msda_tensors.
#define MSDA_TENSORS_INIT {sizeof(msda_tensors), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}

// Enqueues the operator on `stream` (a CUstream or cudaStream_t; null: the legacy default stream) and returns. Allocates nothing,
// synchronises nothing, leaves the current context as it was and is legal during stream capture. On host devices it runs before it returns
// and `stream` is ignored. MSDA_INVALID_ARGUMENT names a null or misaligned pointer.
MSDA_API msda_status msda_launch(const msda_operator* prepared, const msda_tensors* tensors, void* stream);

#ifdef __cplusplus
}
#endif

#endif
