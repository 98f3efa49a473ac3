#!/bin/sh
# "join-cgroup.sh GROUP COMMAND...": moves itself into a cgroup, then becomes the command.
echo $$ >"$1/cgroup.procs" || exit 125
shift
exec "$@"
