#!/usr/bin/env bash
# On a GPU: every example runs there and is right. Usage: tests/gpu/examples.sh BUILD_FOLDER
set -euo pipefail
if "$(dirname "${BASH_SOURCE[0]}")/../course/examples" "$1" gpu; then
    echo "examples: passed"
else
    echo "examples: FAILED"
    exit 1
fi
