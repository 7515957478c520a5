# shellcheck shell=bash
# What the packaging tests share; sourced with the repository's root as working directory.
consumer="$PWD/tests/packaging/consumer"

# by_find_package PREFIX FOLDER: builds the consumer against an installed tree and runs it.
by_find_package() {
    cmake -S "$consumer" -B "$2" -G Ninja -DCMAKE_PREFIX_PATH="$1"
    cmake --build "$2"
    "$2/consumer"
}

# by_pkg_config PREFIX FOLDER [--static]: the same with a bare compiler.
by_pkg_config() {
    local flags place
    mkdir -p "$2"
    place="$(dirname "$(find "$1" -name msda.pc)")"
    flags="$(PKG_CONFIG_PATH="$place" pkg-config ${3:+"$3"} --cflags --libs msda)"
    # shellcheck disable=SC2086  # several words on purpose
    "${CXX:-c++}" -std=c++20 "$consumer/main.cpp" $flags -Wl,-rpath,"$(dirname "$place")" -o "$2/consumer"
    "$2/consumer"
}

# needs_no_cuda FILE...: CUDA's libraries are opened at run time, never linked.
needs_no_cuda() {
    for file in "$@"; do
        if ldd "$file" | grep -E 'libcuda|libnvrtc|libnvidia'; then
            printf '%s links a CUDA library\n' "$file"
            return 1
        fi
    done
}

# names_no_build_path PREFIX: what is installed can be moved and copied to other machines.
names_no_build_path() {
    if grep -rIl -F "$PWD" "$1"; then
        printf 'the files above name the source tree\n'
        return 1
    fi
}
