#!/bin/sh
# "join-cgroup.sh GROUP... -- COMMAND...": moves itself into cgroups, then becomes the command.
while [ "$1" != -- ]; do
    echo $$ >"$1/cgroup.procs" || exit 125
    shift
done
shift
exec "$@"
