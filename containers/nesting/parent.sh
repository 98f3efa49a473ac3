#!/bin/bash
# The first process of a parent: it starts an engine in this container, loads the child's image, runs the children, and ends.
#
#   parent.sh NOTES ARCHIVE CHILDREN GROUP -- WORDS...
#
# NOTES is a file that takes the moments (seconds since 1970) at which the parts had ended, one line `part moment` for each.
# ARCHIVE is the child's image as a file; empty if the engine has it already. CHILDREN is how many children to run, all at once,
# until they have ended; with 0 the engine stays up, for whoever starts containers on it, until the parent is told to end.
# GROUP is the cgroup in which the children's are made. WORDS are those of `docker run` for a child; NUMBER in them becomes
# the child's.
set -u
notes=$1 archive=$2 children=$3 group=$4
shift 5

note() { printf '%s %s\n' "$1" "$EPOCHREALTIME" >>"$notes"; }
fail() { printf 'parent: %s\n' "$1" >&2; note failed; exit 1; }

note parent
dockerd --storage-driver overlay2 --exec-opt native.cgroupdriver=cgroupfs --cgroup-parent "$group" >"$notes.engine" 2>&1 &
engine=$!
until docker version >/dev/null 2>&1; do
    kill -0 $engine 2>/dev/null || fail "the inner engine ended: $(grep -v level=info "$notes.engine" | tail -n 2 | tr '\n' ' ')"
    sleep 0.02
done
note engine

# Children first, as an engine that is killed leaves cgroups of its containers on the host. One that has loaded an image is to
# write down what it knows, and one whose children were measured ends as a user's would; nobody needs more of any other.
leave() {
    docker ps --quiet | xargs --no-run-if-empty docker kill >/dev/null 2>&1
    if [ -z "$archive" ] && [ "$children" = 0 ]; then kill -KILL $engine; else kill $engine; fi
    wait $engine 2>/dev/null
    exit "$1"
}
trap 'leave 0' TERM
if [ -n "$archive" ]; then
    docker load --quiet --input "$archive" >/dev/null || fail "the child's image could not be loaded"
fi
note image

if [ "$children" = 0 ]; then
    note ready
    while :; do sleep infinity & wait $!; done
fi
failed=0 started=()
for number in $(seq "$children"); do
    docker run "${@//NUMBER/$number}" >/dev/null &
    started+=($!)
done
for child in "${started[@]}"; do wait "$child" || failed=1; done
note children
[ $failed = 0 ] || note failed
leave $failed
