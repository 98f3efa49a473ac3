#!/bin/sh
# Runs a program in a container that is up. It hands on the variables by which Open MPI's launcher tells a rank who it
# is, and the launcher's settings of the BLAS. An engine's `exec` hands on no variables of its caller.
#
# usage: exec-with-variables.sh ENGINE CONTAINER PROGRAM [ARGUMENT...]
engine=$1
container=$2
shift 2
options=
for name in $(env | sed -n 's/^\(\(OMPI\|OPAL\|ORTE\|PMIX\|OPENBLAS\)_[A-Za-z0-9_]*\)=.*/\1/p'); do
    options="$options --env $name"
done
# The names have no blanks.
# shellcheck disable=SC2086
exec "$engine" exec $options --workdir "$PWD" "$container" "$@"
