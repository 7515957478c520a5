#!/usr/bin/env bash
# All that the Python package has to show on a GPU, from a build tree and without installing anything: the tests marked gpu, the host's time of
# a call, the step times of three transformers models. Writes python_host.json and python_steps.json into OUT.
# Needs a python3 with PyTorch; pytest and transformers where their parts are to run (MSDA_EXTRA_PYTHONPATH may hold them). The extension is taken
# from BUILD_FOLDER/python/torch, where `MSDA_CACHE_DIR=BUILD_FOLDER/python python -m msda build` puts it, or else compiled where there is a c++.
# Usage: python/tests/gpu_suite.sh BUILD_FOLDER OUT
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out="$(realpath "${2:-.}")"
mkdir -p "$out"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/msda/include/msda" "$tree/cache/torch"
cp python/msda/*.py python/msda/extension.cpp "$1/python/msda/libmsda.so" "$tree/msda/"
cp runtime/include/msda/msda.h "$tree/msda/include/msda/"
export PYTHONPATH="$tree:$PWD/python/tests${MSDA_EXTRA_PYTHONPATH:+:$MSDA_EXTRA_PYTHONPATH}${PYTHONPATH:+:$PYTHONPATH}"
export MSDA_CACHE_DIR="$tree/cache" PYTHONDONTWRITEBYTECODE=1
chmod -R go-w "$tree"
for file in "$1"/python/torch/*.so; do
    [[ ! -f "$file" ]] || install -m 700 "$file" "$tree/cache/torch/"
done
python3 -m msda build || printf 'the extension cannot be built here: its parts are left out\n'

failed=0
part() {
    printf '\n== %s\n' "$1"
    shift
    "$@" || { printf 'FAILED: %s\n' "$*"; ((failed += 1)); }
}
python3 -m msda || exit 1
if python3 -c 'import pytest' 2>/dev/null; then
    part "tests" env MSDA_TORCH_EXTENSION=0 python3 -m pytest -q -p no:cacheprovider -m gpu python/tests
    part "tests with the extension" python3 -m pytest -q -p no:cacheprovider -m gpu python/tests
else
    printf 'no pytest here: tests left out\n'
    ((failed += 1))
fi
part "host time of a call" python3 python/tests/host_cost.py cuda "$out/python_host.json"
if python3 -c 'import transformers' 2>/dev/null; then
    part "step times" python3 python/tests/step_times.py "$out/python_steps.json"
else
    printf 'no transformers here: step times left out\n'
fi
printf '\nverdict: %s\n' "$( ((failed == 0)) && echo "all parts went well" || echo "$failed parts FAILED")"
exit "$((failed > 0))"
