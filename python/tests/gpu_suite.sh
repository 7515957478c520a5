#!/usr/bin/env bash
# All that the Python package has to show on a GPU, from a build tree and without installing anything: the tests marked gpu, the host's time of
# a call, the step times of three transformers models. Writes python_host.json and python_steps.json into OUT.
# Needs a python3 with PyTorch; pytest and transformers where their parts are to run (MSDA_EXTRA_PYTHONPATH may hold them).
# Usage: python/tests/gpu_suite.sh BUILD_FOLDER OUT
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
out="$(realpath "${2:-.}")"
mkdir -p "$out"
tree="$(mktemp -d)"
trap 'rm -rf "$tree"' EXIT
mkdir "$tree/msda"
cp python/msda/*.py "$1/python/msda/libmsda.so" "$tree/msda/"
export PYTHONPATH="$tree:$PWD/python/tests${MSDA_EXTRA_PYTHONPATH:+:$MSDA_EXTRA_PYTHONPATH}${PYTHONPATH:+:$PYTHONPATH}"
export MSDA_CACHE_DIR="$tree/cache" PYTHONDONTWRITEBYTECODE=1

failed=0
part() {
    printf '\n== %s\n' "$1"
    shift
    "$@" || { printf 'FAILED: %s\n' "$*"; ((failed += 1)); }
}
python3 -m msda || exit 1
if python3 -c 'import pytest' 2>/dev/null; then
    part "tests" python3 -m pytest -q -p no:cacheprovider -m gpu python/tests
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
