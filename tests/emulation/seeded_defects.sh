#!/usr/bin/env bash
# Proves with each compiler given that ThreadSanitizer reports the seeded races of emulated kernels, and nothing in sound ones.
# Usage: tests/emulation/seeded_defects.sh [COMPILER...]; by default g++ and clang++, those that are installed.
# Builds one program a compiler, in build/tsan-COMPILER. The last line is "N passed, N failed, N skipped".
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

compilers=("$@")
(($# > 0)) || compilers=(g++ clang++)
passed=0 failed=0 skipped=0
export TSAN_OPTIONS=halt_on_error=1:exitcode=66

# check NAME STATUS: runs one seeded kernel; anything but that exit status fails.
check() {
    local status=0
    "$program" "$1" >"$build/seeded.log" 2>&1 || status=$?
    if [[ "$status" == "$2" ]]; then
        ((passed += 1))
    else
        printf 'FAILED: %s under %s: expected exit status %s, got %s\n' "$1" "$compiler" "$2" "$status"
        cat "$build/seeded.log"
        ((failed += 1))
    fi
}

for compiler in "${compilers[@]}"; do
    if ! command -v "$compiler" >/dev/null; then
        printf 'skipped: no %s\n' "$compiler"
        ((skipped += 1))
        continue
    fi
    build="build/tsan-$(basename "$compiler")"
    program="$build/bin/msda_test_seeded_defect"
    tools/build tsan -B "$build" -DCMAKE_CXX_COMPILER="$compiler" -DMSDA_BUILD_TOOLS=OFF -- msda_test_seeded_defect >/dev/null 2>&1
    export MSDA_HOST_CXX="$compiler"
    mapfile -t names < <("$program" 2>&1 | tail -n +2)
    for name in "${names[@]}"; do
        if [[ "$name" == none ]]; then check "$name" 0; else check "$name" 66; fi
    done
done

printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
((failed == 0))
