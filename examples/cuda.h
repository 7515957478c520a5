// The few functions of the CUDA driver that the examples call, opened at run time so that they build and start without CUDA.
// An application that has CUDA includes <cuda.h> or <cuda_runtime.h> instead.
#ifndef MSDA_EXAMPLES_CUDA_H
#define MSDA_EXAMPLES_CUDA_H

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef unsigned long long cuda_address;

typedef struct cuda {
    int (*init)(unsigned flags);
    int (*device_get)(int* device, int ordinal);
    int (*primary_context)(void** context, int device);
    int (*set_context)(void* context);
    int (*allocate)(cuda_address* address, size_t bytes);
    int (*release)(cuda_address address);
    int (*to_device)(cuda_address to, const void* from, size_t bytes);
    int (*to_host)(void* to, cuda_address from, size_t bytes);
    int (*stream_create)(void** stream, unsigned flags);
    int (*stream_destroy)(void* stream);
    int (*stream_wait)(void* stream);
    int (*begin_capture)(void* stream, int mode);
    int (*end_capture)(void* stream, void** graph);
    int (*instantiate)(void** executable, void* graph, unsigned long long flags);
    int (*graph_launch)(void* executable, void* stream);
    int (*graph_destroy)(void* graph);
    int (*executable_destroy)(void* executable);
    void* context;
} cuda;

// Ends the program when a driver call failed.
static inline void cuda_must(int result, const char* call) {
    if (result == 0) return;
    fprintf(stderr, "%s failed with CUDA error %d\n", call, result);
    exit(1);
}
#define CUDA_MUST(call) cuda_must((call), #call)

// Stores the address of a function of the driver in the pointer at `function`; returns whether it is there.
static inline int cuda_find(void* library, const char* name, void* function) {
    void* symbol = dlsym(library, name);
    memcpy(function, &symbol, sizeof symbol);
    return symbol != NULL;
}

// Opens the driver and makes the primary context of GPU 0 current on this thread. Returns 0 where there is no GPU.
static inline int cuda_open(cuda* c) {
    void* library = dlopen("libcuda.so.1", RTLD_NOW);
    int device = 0;
    if (library == NULL) return 0;
    if (!(cuda_find(library, "cuInit", &c->init) && cuda_find(library, "cuDeviceGet", &c->device_get) &&
          cuda_find(library, "cuDevicePrimaryCtxRetain", &c->primary_context) &&
          cuda_find(library, "cuCtxSetCurrent", &c->set_context) && cuda_find(library, "cuMemAlloc_v2", &c->allocate) &&
          cuda_find(library, "cuMemFree_v2", &c->release) && cuda_find(library, "cuMemcpyHtoD_v2", &c->to_device) &&
          cuda_find(library, "cuMemcpyDtoH_v2", &c->to_host) && cuda_find(library, "cuStreamCreate", &c->stream_create) &&
          cuda_find(library, "cuStreamDestroy_v2", &c->stream_destroy) &&
          cuda_find(library, "cuStreamSynchronize", &c->stream_wait) &&
          cuda_find(library, "cuStreamBeginCapture_v2", &c->begin_capture) &&
          cuda_find(library, "cuStreamEndCapture", &c->end_capture) &&
          cuda_find(library, "cuGraphInstantiateWithFlags", &c->instantiate) &&
          cuda_find(library, "cuGraphLaunch", &c->graph_launch) && cuda_find(library, "cuGraphDestroy", &c->graph_destroy) &&
          cuda_find(library, "cuGraphExecDestroy", &c->executable_destroy)))
        return 0;
    if (c->init(0) != 0 || c->device_get(&device, 0) != 0) return 0;
    CUDA_MUST(c->primary_context(&c->context, device));
    CUDA_MUST(c->set_context(c->context));
    return 1;
}

#endif
