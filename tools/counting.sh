# shellcheck shell=bash
# Counts test results over several runs, in named stages; sourced by tools/test and .ci/run.
passed=0 failed=0 skipped=0
stage_names=() stage_starts=() stage_processor=()

# stage NAME: what runs from here on belongs to it, in the printed log and in stage_times.
stage() {
    stage_names+=("$*")
    stage_starts+=("$SECONDS")
    children_seconds
    stage_processor+=("$children")
    printf '\n== %s (minute %d)\n' "$*" $((SECONDS / 60))
}

# children_seconds: sets `children` to the processor's seconds of all processes that this shell has started and seen the end of.
children_seconds() {
    local numbers
    read -ra numbers </proc/$$/stat
    children=$(((numbers[15] + numbers[16]) / $(getconf CLK_TCK)))
}

# stage_times: a line a stage with its minutes, and the processor's.
stage_times() {
    local i end
    children_seconds
    for i in "${!stage_names[@]}"; do
        end="${stage_starts[i + 1]:-$SECONDS}"
        printf '%6.1f min, %6.1f of the processor  %s\n' "$(((end - stage_starts[i]) / 6))e-1" \
            "$(((${stage_processor[i + 1]:-$children} - stage_processor[i]) / 6))e-1" "${stage_names[i]}"
    done
}

# run_counted COMMAND...: a command whose last line is a closing line; adds its counts and keeps that line to itself.
# One that ends without that line, or badly with nothing failed, counts as one failure.
run_counted() {
    local log status=0
    log="$(mktemp)"
    "$@" </dev/null 2>&1 | tee "$log" | { grep --line-buffered -avE '^[0-9]+ passed, [0-9]+ failed, [0-9]+ skipped$' || true; } || status=$?
    if [[ "$(tail -n 1 "$log")" =~ ^([0-9]+)\ passed,\ ([0-9]+)\ failed,\ ([0-9]+)\ skipped$ ]]; then
        ((passed += BASH_REMATCH[1], failed += BASH_REMATCH[2], skipped += BASH_REMATCH[3])) || true
        if ((status != 0 && BASH_REMATCH[2] == 0)); then
            printf 'FAILED (exit status %d): %s\n' "$status" "$*"
            ((failed += 1))
        fi
    else
        printf 'FAILED (no closing line, exit status %d): %s\n' "$status" "$*"
        ((failed += 1))
    fi
    rm -f "$log"
}

# run_cases COMMAND...: runs a doctest program and adds the counts of its "[msda] passed=N failed=N skipped=N" lines. Its suites are independent
# and go through as many processes as there are processors, one where there is a GPU, whose memory they would share.
# A suite that ends without that line, or badly with no case failed, counts as one failure; so do cases outside all suites.
run_cases() {
    local logs suites suite status ran=0 cases at_once=1
    logs="$(mktemp -d)"
    mapfile -t suites < <("$@" --list-test-suites </dev/null 2>/dev/null | grep -avE '^(\[doctest\]|=)')
    cases="$("$@" --count </dev/null 2>/dev/null | grep -aoE '[0-9]+$' | tail -n 1)" || true
    [[ -e /dev/nvidia0 ]] || at_once="$(nproc)"
    # shellcheck disable=SC2016  # the inner shell's
    ((${#suites[@]} == 0)) || printf '%s\n' "${suites[@]}" | LOGS="$logs" xargs -P "$at_once" -I '{}' bash -c '
        "$@" -ts="$0" </dev/null >"$LOGS/$0" 2>&1 || printf "exit status %d" $? >"$LOGS/$0.status"
        cat "$LOGS/$0"' '{}' "$@"
    for suite in "${suites[@]}"; do
        status=""
        [[ ! -f "$logs/$suite.status" ]] || status="$(<"$logs/$suite.status")"
        if [[ "$(grep -a '^\[msda\] passed=' "$logs/$suite" | tail -n 1)" =~ passed=([0-9]+)\ failed=([0-9]+)\ skipped=([0-9]+) ]]; then
            ((passed += BASH_REMATCH[1], failed += BASH_REMATCH[2], skipped += BASH_REMATCH[3])) || true
            ((ran += BASH_REMATCH[1] + BASH_REMATCH[2] + BASH_REMATCH[3])) || true
            [[ -n "$status" && "${BASH_REMATCH[2]}" == 0 ]] || continue
        else
            status="ended early, ${status:-exit status 0}"
        fi
        printf 'FAILED (%s): %s -ts=%s\n' "$status" "$*" "$suite"
        ((failed += 1))
    done
    rm -rf "$logs"
    if ((ran != ${cases:--1})); then
        printf 'FAILED (%d of %s cases ran): %s\n' "$ran" "${cases:-unknown}" "$*"
        ((failed += 1))
    fi
}

# run_script COMMAND...: one test; exit status 0 passes, 77 skips, any other fails and shows what was printed.
run_script() {
    local log status=0 start=$SECONDS
    log="$(mktemp)"
    "$@" </dev/null >"$log" 2>&1 || status=$?
    count_script "$log" "$status" $((SECONDS - start)) "$@"
    rm -f "$log"
}

# run_scripts FOLDER ARGUMENT...: each file of a folder as run_script does, as many at a time as there are processors.
run_scripts() {
    local logs script status seconds
    logs="$(mktemp -d)"
    # shellcheck disable=SC2016  # the inner shell's
    printf '%s\n' "$1"/* | LOGS="$logs" xargs -P "$(nproc)" -I '{}' bash -c '
        SECONDS=0 status=0
        "$0" "$@" </dev/null >"$LOGS/${0##*/}" 2>&1 || status=$?
        printf "%d %d\n" "$status" "$SECONDS" >"$LOGS/${0##*/}.status"' '{}' "${@:2}" || true
    for script in "$1"/*; do
        read -r status seconds <"$logs/${script##*/}.status" || { status=255 seconds=0; }
        count_script "$logs/${script##*/}" "$status" "$seconds" "$script" "${@:2}"
    done
    rm -rf "$logs"
}

# count_script LOG STATUS SECONDS COMMAND...: counts what a script came to, and says it.
count_script() {
    case "$2" in
        0) ((passed += 1)); printf 'passed: %s (%d s)\n' "${*:4}" "$3" ;;
        77) ((skipped += 1)); printf 'skipped: %s: %s\n' "${*:4}" "$(tail -n 1 "$1")" ;;
        *) ((failed += 1)); cat "$1"; printf 'FAILED (exit status %d): %s\n' "$2" "${*:4}" ;;
    esac
}

# closing_line: prints "N passed, N failed, N skipped" and returns whether all is well (something ran, nothing failed).
closing_line() {
    printf '%d passed, %d failed, %d skipped\n' "$passed" "$failed" "$skipped"
    ((failed == 0 && passed > 0))
}
