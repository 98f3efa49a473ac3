#!/usr/bin/env bash
# Measures one host of several, on the host itself: it runs the workflow as on one machine, in a folder of its own.
# rules/cluster.smk has Slurm or ssh call it, and a person may call it too. Existing measurements are not made again.
#
#   host.sh NAME FOLDER [OPTION...] [SETTING...]
#
#   --images FILE   takes the images from this file
#   --hours HOURS   measures each study for so many hours
#   --target NAME   makes this target (default: all); may be given several times
#   --slurm         refuses to run except as a job of Slurm on the node NAME
#   --set-up        first installs what is missing, as `./plimsoll setup` does
#   --while-open    ends a minute after the last line on standard input: its caller is gone
#
# The settings are those of the workflow, as after --config.
set -euo pipefail
# The reader of the messages may end first, and there is something to clean up then.
trap '' PIPE

PROJECT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# The caller is gone if no line comes for PATIENCE seconds. What has not ended after ENDING seconds is killed.
PATIENCE=60 ENDING=15

say() { printf 'plimsoll: %s\n' "$*" >&2 || true; }
die() { say "$*"; exit 1; }

[ $# -ge 2 ] || die "usage: host.sh NAME FOLDER [OPTION...] [SETTING...]; $PROJECT/scripts/cluster/host.sh says more."
name=$1 folder=$2
shift 2
images='' hours='' slurm='' set_up='' while_open='' targets=() settings=()
while [ $# -gt 0 ]; do
    case $1 in
        --images | --hours | --target)
            [ $# -ge 2 ] || die "$1 needs a value. Nothing was measured."
            case $1 in --images) images=$2 ;; --hours) hours=$2 ;; --target) targets+=("$2") ;; esac
            shift ;;
        --slurm) slurm=yes ;;
        --set-up) set_up=yes ;;
        --while-open) while_open=yes ;;
        [!-]*=*) settings+=("$1") ;;
        *) die "$1 is neither an option of host.sh nor a setting such as profile=paper. Nothing was measured." ;;
    esac
    shift
done
[ ${#targets[@]} -gt 0 ] || targets=(all)

node=${SLURMD_NODENAME:-} job=${SLURM_JOB_ID:-}
if [ -n "$slurm" ] && [ "$node" != "$name" ]; then
    die "$name is measured by a job of Slurm on it, and this is ${node:-no such job}: add --profile profiles/slurm, or say how ssh reaches $name (docs/how-to/cluster.md). Nothing was measured."
fi
# Otherwise mpirun takes its slots and its launcher from Slurm, and Snakemake its settings from the submitter.
for variable in $(compgen -e); do
    case $variable in SLURM* | SBATCH* | SRUN_* | PMI* | SNAKEMAKE_PROFILE) unset "$variable" ;; esac
done
# Values for the description of the host (plimsoll.host.inventory).
export PLIMSOLL_HOST=$name PLIMSOLL_NODE=$node PLIMSOLL_JOB=$job

mkdir -p "$folder" || die "$folder cannot be made, so nothing was measured. Give $name a folder that can be written."
folder=$(cd "$folder" && pwd)
[ -z "$images" ] || images=$(realpath "$images")
cd "$PROJECT"
# The caller's other folders are dropped: the plugin for Slurm, for example, keeps Snakemake from starting where squeue
# is missing.
export PYTHONPATH="$PROJECT/scripts"
# The Python environment of set-up, or else the Python with which the caller runs the project.
interpreter() { if [ -x .venv/bin/python ]; then echo .venv/bin/python; else echo python; fi; }

exec 9>"$folder/host.lock"
flock --wait 90 9 || [ $? -ne 1 ] || die "Another call measures $name in $folder. This one has measured nothing. Wait for the other to end, or stop it."

child='' watcher=''
# run COMMAND... : runs it in a session of its own, so that all of it can be ended at once.
run() {
    local status=0
    (trap - PIPE; exec setsid "$@" </dev/null 9>&-) &
    child=$!
    wait "$child" || status=$?
    child=''
    return $status
}
finish() {
    local status=$? waited=0
    trap - EXIT
    trap '' HUP INT TERM
    if [ -n "$child" ]; then
        kill -TERM -- "-$child" 2>/dev/null || true
        # Some processes take down what they have started.
        while kill -0 -- "-$child" 2>/dev/null && [ $waited -lt $((10 * ENDING)) ]; do
            sleep 0.1
            waited=$((waited + 1))
        done
        kill -KILL -- "-$child" 2>/dev/null || true
    fi
    [ -z "$watcher" ] || kill "$watcher" 2>/dev/null || true
    # A killed run has left containers and processes that nothing else removes. They are not removed while another
    # workflow measures here.
    [ $status -eq 0 ] || timeout 60 "$(interpreter)" -m plimsoll --directory "$folder" clean-up 9>&- || true
    exit $status
}
trap finish EXIT
trap 'say "$name: ended from outside; what was measured is kept."; exit 143' HUP INT TERM

if [ -n "$while_open" ]; then
    exec 3<&0
    { while read -r -t $PATIENCE _; do :; done; kill -TERM $$; } <&3 9>&- &
    watcher=$!
    exec 3<&-
fi

rm -f "$folder/done.json"
printf '{"node": "%s", "job": "%s", "moment": %s}\n' "$node" "$job" "$(date +%s)" >>"$folder/starts.jsonl"
if [ -n "$set_up" ]; then
    PLIMSOLL_SETTINGS=${settings[*]@Q} IMAGE=$images run bash scripts/setup/all.sh
fi
[ -z "$images" ] || run "$(interpreter)" -m plimsoll take-images --file "$images" "${settings[@]}"
[ -z "$hours" ] || run "$(interpreter)" -m plimsoll --directory "$folder" hours --hours "$hours" "${settings[@]}"
[ ${#settings[@]} -eq 0 ] || settings=(--config "${settings[@]}")
run "$(interpreter)" -m snakemake --directory "$folder" --cores 1 "${targets[@]}" "${settings[@]}"
run "$(interpreter)" -m plimsoll mark-done --folder "$folder" --host "$name"
say "$name: done"
