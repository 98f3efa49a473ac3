#!/bin/sh
# "with-binding.sh COMMAND...": becomes the command, with each word BINDING in it replaced by the processors that this process is
# bound to. A process that enters a cpuset loses its binding (before Linux 6.2) and can then set it again.
while read -r key value; do
    [ "$key" = Cpus_allowed_list: ] && break
done </proc/self/status
for word do
    shift
    [ "$word" = BINDING ] && word=$value
    set -- "$@" "$word"
done
exec "$@"
