#!/bin/sh
# What Open MPI calls instead of ssh: "instance-agent.sh INSTANCE COMMAND...", COMMAND being words for a remote shell.
instance=$1
shift
unset OPAL_PREFIX PMIX_PREFIX HWLOC_PLUGINS_PATH
exec "$PLIMSOLL_APPTAINER" exec --pwd "$PWD" "instance://$instance" sh -c "$*"
