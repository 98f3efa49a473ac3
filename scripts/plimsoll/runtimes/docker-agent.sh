#!/bin/sh
# What Open MPI calls instead of ssh: "docker-agent.sh CONTAINER COMMAND...", COMMAND being words for a remote shell.
container=$1
shift
exec docker exec -w "$PWD" "$container" sh -c "$*"
