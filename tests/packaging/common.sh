# shellcheck shell=bash
# What the packaging tests share; sourced with the repository's root as working directory.
consumers="$PWD/tests/packaging"
# The flags of the project's own build, and folders as deep as its own where the library is built again, so that a compiler cache has the
# objects already.
configure=(cmake -G Ninja -DCMAKE_BUILD_TYPE=Release -DCMAKE_UNITY_BUILD=ON -DMSDA_WERROR=ON)
if command -v ccache >/dev/null; then
    configure+=(-DCMAKE_C_COMPILER_LAUNCHER=ccache -DCMAKE_CXX_COMPILER_LAUNCHER=ccache)
fi

# run_consumers FOLDER: runs the programs that a consumer's build left there.
run_consumers() {
    "$1/consumer_cpp"
    "$1/consumer_c"
}

# by_find_package PREFIX FOLDER: builds the consumers against an installed tree and runs them.
by_find_package() {
    "${configure[@]}" -S "$consumers/consumer" -B "$2" -DCMAKE_PREFIX_PATH="$1"
    cmake --build "$2"
    run_consumers "$2"
}

# by_pkg_config PREFIX FOLDER [--static]: the same with bare compilers.
by_pkg_config() {
    local place flags
    mkdir -p "$2"
    place="$(dirname "$(find "$1" -name msda.pc)")"
    read -ra flags <<<"$(PKG_CONFIG_PATH="$place" pkg-config ${3:+"$3"} --cflags --libs msda) -Wl,-rpath,$(dirname "$place")"
    "${CXX:-c++}" -std=c++20 "$consumers/consumer/main.cpp" "${flags[@]}" -o "$2/consumer_cpp"
    "${CC:-cc}" -std=c99 -pedantic -Werror "$consumers/consumer/main.c" "${flags[@]}" -o "$2/consumer_c"
    run_consumers "$2"
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

# says_version FOLDER: what is installed says the one version that CMakeLists.txt gives.
says_version() {
    local version
    version="$(sed -n 's/^project(msda VERSION \([0-9.]*\) .*/\1/p' CMakeLists.txt)"
    [[ -n "$version" ]]
    grep -qx "Version: $version" "$(find "$1" -name msda.pc)"
    grep -q "\"$version\"" "$(find "$1" -name msda-config-version.cmake)"
}
