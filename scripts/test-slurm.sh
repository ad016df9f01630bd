#!/bin/sh
# Runs deploy/slurm/encode.sbatch on a real Slurm: slurmctld and slurmd of Debian's slurm-wlm on the loopback of this
# machine. Plans a city of made-up blocks, submits the array job, kills one task in the middle, requeues it, merges and
# verifies; what comes out must be what one process makes.
#
# Needs root, and apt to install slurm-wlm and munge where they are missing.

. "$(dirname "$0")/common.sh"

scripts/setup.sh

packages=""
command -v slurmctld >/dev/null && command -v slurmd >/dev/null && command -v sbatch >/dev/null || packages="$packages slurm-wlm"
command -v munged >/dev/null || packages="$packages munge"
if [ "$(id -u)" -ne 0 ] || { [ -n "$packages" ] && ! command -v apt-get >/dev/null; }; then
    say "make test-slurm starts a Slurm of its own: it needs root and the packages slurm-wlm and munge." >&2
    exit 1
fi
if [ -n "$packages" ]; then
    say "Installing with apt:$packages"
    apt-get update -qq
    # shellcheck disable=SC2086 # one word a package
    env DEBIAN_FRONTEND=noninteractive apt-get install --yes --no-install-recommends -qq $packages
fi

cargo build --workspace --all-features --bins --examples
atlas_tools=${CARGO_TARGET_DIR:-$PWD/target}/debug/atlas-tools

scratch=$(mktemp -d)
host=$(hostname -s)
stop() {
    for daemon in slurmd slurmctld munged; do
        [ -f "$scratch/$daemon.pid" ] && kill "$(cat "$scratch/$daemon.pid")" 2>/dev/null || true
    done
    [ -n "${KEEP_SCRATCH:-}" ] || rm -rf "$scratch"
}
trap stop EXIT

# fail MESSAGE: says what the daemons said last.
fail() {
    say "test-slurm: $1" >&2
    tail -n 20 "$scratch"/*.log "$scratch"/job-*.out 2>/dev/null >&2 || true
    exit 1
}

# until_true SECONDS WHAT COMMAND...: asks again and again until the command succeeds.
until_true() {
    tries=$(($1 * 5))
    what=$2
    shift 2
    until "$@" >/dev/null 2>&1; do
        tries=$((tries - 1))
        [ "$tries" -gt 0 ] || fail "waited in vain for $what"
        sleep 0.2
    done
}

# A munge of our own: its key and its socket lie in the scratch folder.
chmod 755 "$scratch"
mkdir -p "$scratch/munge" "$scratch/state" "$scratch/spool"
dd if=/dev/urandom of="$scratch/munge/key" bs=128 count=1 2>/dev/null
chmod 700 "$scratch/munge"
chmod 600 "$scratch/munge/key"
munged --force --key-file="$scratch/munge/key" --socket="$scratch/munge.socket" --pid-file="$scratch/munged.pid" \
    --log-file="$scratch/munged.log" --seed-file="$scratch/munge/seed"

cat >"$scratch/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=16817
SlurmdPort=16818
AuthType=auth/munge
AuthInfo=socket=$scratch/munge.socket
CryptoType=crypto/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation=$scratch/state
SlurmdSpoolDir=$scratch/spool
SlurmctldPidFile=$scratch/slurmctld.pid
SlurmdPidFile=$scratch/slurmd.pid
SlurmctldLogFile=$scratch/slurmctld.log
SlurmdLogFile=$scratch/slurmd.log
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
ReturnToService=2
MpiDefault=none
SchedulerType=sched/backfill
JobAcctGatherType=jobacct_gather/none
NodeName=$host NodeAddr=127.0.0.1 CPUs=2 State=UNKNOWN
PartitionName=main Nodes=ALL Default=YES MaxTime=INFINITE State=UP
CONF
export SLURM_CONF="$scratch/slurm.conf"
slurmctld -i
slurmd
node_is_idle() { sinfo --noheader --format=%t | grep -q idle; }
until_true 60 "an idle node" node_is_idle

# A city of made-up blocks over 12 x 12 tiles, the same at each run.
python3 - "$scratch/city.geojsonl" <<'PYTHON'
import json, math, sys

def lon_lat(x, z):  # of world voxels at zoom 17
    size = float(1 << 25)
    return [x / size * 360 - 180, math.degrees(math.atan(math.sinh(math.pi * (1 - 2 * z / size))))]

with open(sys.argv[1], "w") as file:
    for n in range(1500):
        x, z = 116400 * 256 + n * 7919 % (12 * 256), 51600 * 256 + n * 104729 % (12 * 256)
        w, d = 8 + n * 31 % 40, 8 + n * 17 % 40
        ring = [lon_lat(*corner) for corner in [(x, z), (x + w, z), (x + w, z + d), (x, z + d), (x, z)]]
        feature = {"type": "Feature", "id": n + 1, "properties": {"height": 4 + n * 13 % 120},
                   "geometry": {"type": "Polygon", "coordinates": [ring]}}
        file.write(json.dumps(feature) + "\n")
PYTHON

n_shards=4
plan="$scratch/plan.json"
out="$scratch/city"
tiles="--tiles 13/7275/3225"
# shellcheck disable=SC2086 # a flag and its value
"$atlas_tools" plan "$scratch/city.geojsonl" $tiles --shards $n_shards --out "$plan"

# One CPU a task of two: two shards run at once, two wait.
job=$(ATLAS_TOOLS=$atlas_tools PLAN=$plan OUT=$out sbatch --parsable --array=0-$((n_shards - 1)) \
    --output="$scratch/job-%a.out" deploy/slurm/encode.sbatch)
has_tiles() { [ "$(wc -l <"$out/manifest-1.jsonl")" -ge 4 ]; }
until_true 120 "the first tiles of shard 1" has_tiles
scancel --signal=KILL --full "${job}_1" || scancel --signal=KILL "${job}_1" || true
is_gone() { ! squeue --noheader --jobs "${job}_1" --states=RUNNING 2>/dev/null | grep -q .; }
until_true 60 "the end of the killed task" is_gone
n_before=$(wc -l <"$out/manifest-1.jsonl")
! grep -q '"done"' "$out/manifest-1.jsonl" || fail "shard 1 was done before it was killed: nothing was proven"
if "$atlas_tools" merge --plan "$plan" "$out" --quiet 2>/dev/null; then
    fail "merge took a shard that did not run to its end"
fi
scontrol requeue "${job}_1" || fail "the killed task cannot be requeued"
is_done() { [ -z "$(squeue --noheader --jobs "$job")" ] && [ "$(grep -l '"done"' "$out"/manifest-*.jsonl | wc -l)" -eq $n_shards ]; }
until_true 600 "the end of all shards" is_done
grep -q '"tiles_kept": *[1-9]' "$scratch/job-1.out" || fail "the requeued task made everything anew"

"$atlas_tools" merge --plan "$plan" "$out"
"$atlas_tools" verify --plan "$plan" "$out"
# shellcheck disable=SC2086 # a flag and its value
"$atlas_tools" encode "$scratch/city.geojsonl" $tiles --out "$scratch/whole" --quiet
diff --recursive --brief --exclude='manifest*.jsonl' "$out" "$scratch/whole" || fail "4 shards are not what one process makes"
say "test-slurm: $n_shards shards, one killed after $((n_before - 1)) tiles and requeued, are byte for byte what one process makes."
