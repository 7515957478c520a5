#!/bin/bash
# Tunes with a simulated device on a real Slurm of one node (slurmctld, slurmd, munged of this machine, in a directory of its
# own), merges, and checks what came of it. Usage: tests/cluster/slurm_test.sh PATH/TO/msda
# Exit code 77, with the reason, where Slurm is not installed or not allowed to run.
set -euo pipefail

skip() {
    echo "skipped: $1"
    exit 77
}
fail() {
    echo "FAILED: $1" >&2
    tail -n 20 "$dir"/*.log "$dir"/out/logs/* 2>/dev/null >&2 || true
    exit 1
}

root="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
msda="$(realpath "${1:?usage: $0 PATH/TO/msda}")"
for tool in slurmctld slurmd munged sbatch squeue; do
    command -v "$tool" >/dev/null || PATH="$PATH:/usr/sbin" command -v "$tool" >/dev/null || skip "$tool is not installed"
done
export PATH="$PATH:/usr/sbin"
[ "$(id -u)" = 0 ] || skip "slurmd starts jobs only as root"

dir="$(mktemp -d /tmp/msda-slurm-XXXXXX)"
chmod 755 "$dir"
daemons=()
cleanup() {
    for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null || true; done
    for pid in "${daemons[@]}"; do wait "$pid" 2>/dev/null || true; done
    rm -rf "$dir"
}
trap cleanup EXIT

start_munge() {
    mkdir -p "$dir/munge"
    chmod 700 "$dir/munge"
    head -c 1024 /dev/urandom >"$dir/munge/key"
    chmod 600 "$dir/munge/key"
    munged --foreground --force --key-file="$dir/munge/key" --socket="$dir/munge/socket" --pid-file="$dir/munge/pid" \
        --log-file="$dir/munge/log" --seed-file="$dir/munge/seed" >"$dir/munged.log" 2>&1 &
    daemons+=($!)
    for _ in $(seq 50); do [ -S "$dir/munge/socket" ] && return; sleep 0.1; done
    skip "munged does not start here: $(tail -n 1 "$dir/munged.log")"
}

write_configuration() {
    mkdir -p "$dir/state" "$dir/spool"
    local host
    host="$(hostname -s)"
    cat >"$dir/slurm.conf" <<TEXT
ClusterName=msda
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$((20000 + $$ % 10000))
SlurmdPort=$((30000 + $$ % 10000))
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$dir/munge/socket
StateSaveLocation=$dir/state
SlurmdSpoolDir=$dir/spool
SlurmctldPidFile=$dir/slurmctld.pid
SlurmdPidFile=$dir/slurmd.pid
SlurmctldLogFile=$dir/slurmctld.log
SlurmdLogFile=$dir/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerParameters=sched_interval=1,bf_interval=1
ReturnToService=2
MailProg=/bin/true
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=test Nodes=ALL Default=YES MaxTime=INFINITE State=UP
TEXT
    # Containers rarely let a process make cgroups, and this test needs none. Before 23.11 there is no "disabled"; there the
    # v1 plugin touches nothing as long as no other plugin asks for it.
    local plugin="disabled"
    [[ "$(slurmd -V)" =~ \ (2[0-2]|23\.02) ]] && plugin="cgroup/v1"
    echo "CgroupPlugin=$plugin" >"$dir/cgroup.conf"
    export SLURM_CONF="$dir/slurm.conf"
}

start_slurm() {
    slurmctld -D -f "$dir/slurm.conf" >"$dir/ctld.out.log" 2>&1 &
    daemons+=($!)
    slurmd -D -f "$dir/slurm.conf" >"$dir/slurmd.out.log" 2>&1 &
    daemons+=($!)
    for _ in $(seq 100); do
        if sinfo -h -o %t 2>/dev/null | grep -q '^idle'; then return; fi
        sleep 0.2
    done
    skip "Slurm does not come up here: $(tail -n 1 "$dir/slurmd.log" 2>/dev/null) $(tail -n 1 "$dir/slurmctld.log" 2>/dev/null)"
}

# Waits until no job is left.
drain() {
    for _ in $(seq 600); do
        [ -z "$(squeue -h 2>/dev/null)" ] && return
        sleep 0.5
    done
    fail "jobs do not end: $(squeue)"
}

tune() {
    MSDA="$msda" "$root/tools/cluster/submit" --out "$dir/out" --parts 3 -- \
        'ddetr-*' rtdetr --dtype f16,f32 --pass forward --simulate --seed 7 >"$dir/submitted"
    drain
    [ -s "$dir/out/tuning.json" ] || fail "no merged database"
}

records() { "$msda" db show "$1" --json | grep -c '"problem"'; }

start_munge
write_configuration
start_slurm

tune
for part in 1 2 3; do [ -s "$dir/out/part-$part.json" ] || fail "no part $part"; done
"$msda" tune 'ddetr-*' rtdetr --dtype f16,f32 --pass forward --simulate --seed 7 --db "$dir/alone.json" >/dev/null
[ "$(records "$dir/out/tuning.json")" = "$(records "$dir/alone.json")" ] || fail "the merged database lacks records"
# The order in which candidates are compiled differs from run to run, and among equals the winner; what is won must not.
"$msda" db diff "$dir/out/tuning.json" "$dir/alone.json" --json >"$dir/differences.json"
python3 - "$dir/differences.json" <<'PROGRAM' || fail "many nodes and one chose configs that differ by more than 2 %"
import json, sys
for d in json.load(open(sys.argv[1]))["differences"]:
    assert d["left_us"] and d["right_us"] and abs(d["left_us"] / d["right_us"] - 1) <= 0.02, d
PROGRAM
grep -q "^hash $("$msda" db hash "$dir/out/tuning.json")$" "$dir/out/logs/merge.log" || fail "the merge job printed another hash"

# As a site layer it answers exactly.
how="$("$msda" db get "$dir/out/tuning.json" --shape rtdetr --dtype f16 --pass forward --json | grep '"how"')"
[[ "$how" == *exact* ]] || fail "the merged database does not know a tuned shape: $how"

# A lost part is tuned again, the others are skipped and nothing gets lost.
before="$("$msda" db hash "$dir/out/tuning.json")"
kept="$("$msda" db hash "$dir/out/part-1.json")"
rm "$dir/out/part-2.json"
tune
[ "$("$msda" db hash "$dir/out/part-1.json")" = "$kept" ] || fail "a finished part was tuned again"
[ "$(records "$dir/out/tuning.json")" = "$(records "$dir/alone.json")" ] || fail "records were lost"
echo "ok: $(records "$dir/out/tuning.json") records over 3 tasks, hash $before"
