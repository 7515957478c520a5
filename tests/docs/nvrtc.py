"""Compiles one CUDA source with a libnvrtc, through its C interface."""
import ctypes


def compile_cuda(library, source, arch):
    """An empty text when it compiles without a warning, else the compiler's log."""
    nvrtc = ctypes.CDLL(str(library))
    program = ctypes.c_void_p()
    status = nvrtc.nvrtcCreateProgram(ctypes.byref(program), source.encode(), b"block.cu", 0, None, None)
    if status:
        return f"nvrtcCreateProgram: error {status}"
    options = (ctypes.c_char_p * 2)(f"--gpu-architecture={arch}".encode(), b"--std=c++17")
    try:
        failed = nvrtc.nvrtcCompileProgram(program, 2, options)
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value + 1)
        nvrtc.nvrtcGetProgramLog(program, log)
        return log.value.decode(errors="replace").strip() or ("refused without a word" if failed else "")
    finally:
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
