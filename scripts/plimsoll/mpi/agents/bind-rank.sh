#!/bin/sh
# "bind-rank.sh COMMAND...": becomes the command, bound to the core in the line of the file "cores" that is this rank's.
number=0
while read -r core; do
    [ "$number" = "$OMPI_COMM_WORLD_RANK" ] && exec taskset -c "$core" "$@"
    number=$((number + 1))
done <"$(dirname "$0")/cores"
echo "bind-rank.sh: no core for rank $OMPI_COMM_WORLD_RANK" >&2
exit 125
