# Finds cuda.h and nvrtc.h in a toolkit, a conda environment, pip's nvidia packages, or where -DMSDA_CUDA_INCLUDE says.
# Result: the interface target msda_cuda_headers.
set(MSDA_CUDA_INCLUDE "" CACHE STRING "Folders that hold cuda.h and nvrtc.h; empty: search")

set(MSDA_CUDA_TOOLKITS /usr/local/cuda /opt/cuda /usr CACHE STRING "Where toolkits are looked for, after CUDA_PATH and CUDA_HOME")
mark_as_advanced(MSDA_CUDA_TOOLKITS)

# Include folders of the nvidia wheels that a Python interpreter sees, old layout (one folder a wheel) and new (one for all).
function(msda_pip_includes result)
    set(folders)
    find_program(MSDA_PYTHON NAMES python3 python DOC "Python whose nvidia packages may hold the CUDA headers")
    mark_as_advanced(MSDA_PYTHON)
    foreach(python IN ITEMS "${PROJECT_SOURCE_DIR}/.venv/bin/python3" "${Python_EXECUTABLE}" "${MSDA_PYTHON}")
        if(NOT EXISTS "${python}")
            continue()
        endif()
        execute_process(
            COMMAND "${python}" -c "import site, sys; print(';'.join(dict.fromkeys([*sys.path[1:], site.getusersitepackages()])))"
            OUTPUT_VARIABLE roots OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
        foreach(root IN LISTS roots)
            file(GLOB found "${root}/nvidia/cu[0-9]*/include" "${root}/nvidia/cuda_*/include")
            list(APPEND folders ${found})
        endforeach()
    endforeach()
    file(GLOB found "${PROJECT_SOURCE_DIR}/.venv/nvrtc-*/nvidia/cu[0-9]*/include"
        "${PROJECT_SOURCE_DIR}/.venv/nvrtc-*/nvidia/cuda_*/include")
    list(APPEND folders ${found})
    set(${result} "${folders}" PARENT_SCOPE)
endfunction()

function(msda_find_cuda_headers)
    set(conda "$ENV{CONDA_PREFIX}")
    set(toolkits "$ENV{CUDA_PATH}" "$ENV{CUDA_HOME}" ${MSDA_CUDA_TOOLKITS})
    if(conda)
        list(APPEND toolkits "${conda}/targets/x86_64-linux" "${conda}/targets/sbsa-linux" "${conda}")
    endif()
    list(REMOVE_ITEM toolkits "")
    list(TRANSFORM toolkits APPEND /include)
    if(MSDA_CUDA_INCLUDE)
        set(folders "${MSDA_CUDA_INCLUDE}")
    else()
        msda_pip_includes(pip)
        set(folders ${toolkits} ${pip})
    endif()
    foreach(header IN ITEMS cuda nvrtc)
        set(place "MSDA_${header}_h")
        unset(${place} CACHE)
        find_path(${place} ${header}.h PATHS ${folders} NO_DEFAULT_PATH)
        mark_as_advanced(${place})
        if(NOT ${place})
            message(FATAL_ERROR "msda needs the CUDA header ${header}.h (12.0 or newer), and no CUDA library. Any one of these will do:\n"
                "  1. a CUDA toolkit: in /usr/local/cuda, in a conda environment, or where CUDA_PATH points;\n"
                "  2. pip's headers: pip install nvidia-cuda-runtime nvidia-cuda-nvrtc (tools/setup does it in .venv);\n"
                "  3. a folder that you name: cmake -DMSDA_CUDA_INCLUDE=/path/to/include (several: separated by ';').")
        endif()
    endforeach()
    message(STATUS "CUDA headers: ${MSDA_cuda_h}/cuda.h, ${MSDA_nvrtc_h}/nvrtc.h")
    add_library(msda_cuda_headers INTERFACE)
    target_include_directories(msda_cuda_headers SYSTEM INTERFACE "${MSDA_cuda_h}" "${MSDA_nvrtc_h}")
endfunction()

msda_find_cuda_headers()
