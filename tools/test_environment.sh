# shellcheck shell=bash
# What tools/setup put in .venv, told to the tests: its python3 comes first on PATH, MSDA_TEST_NVRTC (libraries, separated by ':'),
# MSDA_TEST_CUOBJDUMP, MSDA_TEST_NVDISASM (CUDA 13's) and MSDA_TEST_NVDISASM_12, which reads GPUs older than sm_75 as well.
# Each only where the file is there. Sourced from the root of the repository.
MSDA_TEST_NVRTC=""
for file in "$PWD"/.venv/nvrtc-12/nvidia/cuda_nvrtc/lib/libnvrtc.so.12 "$PWD"/.venv/nvrtc-13/nvidia/cu13/lib/libnvrtc.so.13; do
    [[ -f "$file" ]] && MSDA_TEST_NVRTC+="${MSDA_TEST_NVRTC:+:}$file"
done
export MSDA_TEST_NVRTC
tool="$PWD/.venv/nvrtc-13/nvidia/cu13/bin/cuobjdump"
[[ -x "$tool" ]] && export MSDA_TEST_CUOBJDUMP="$tool"
tool="$PWD/.venv/nvrtc-13/nvidia/cu13/bin/nvdisasm"
[[ -x "$tool" ]] && export MSDA_TEST_NVDISASM="$tool"
tool="$PWD/.venv/nvdisasm-12/nvdisasm"
[[ -x "$tool" ]] && export MSDA_TEST_NVDISASM_12="$tool"
[[ -x "$PWD/.venv/bin/python3" ]] && export PATH="$PWD/.venv/bin:$PATH"
true
