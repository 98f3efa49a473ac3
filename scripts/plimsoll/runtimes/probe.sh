#!/bin/sh
# Prints, as "key value" lines, where this process is: namespaces, cgroup, root, network links and privileges.
for kind in cgroup ipc mnt net pid user uts; do echo "$kind $(readlink /proc/self/ns/$kind)"; done
# The line of the cpu controller (version 1), or the only line (version 2).
cgroup=
while IFS=: read -r number controllers path; do
    case ",$controllers," in *,cpu,*) cgroup=$path; break ;; esac
    if [ "$number" = 0 ] && [ -z "$cgroup" ]; then cgroup=$path; fi
done </proc/self/cgroup
echo "cpu_cgroup $cgroup"
root=
while read -r _ where type _; do if [ "$where" = / ]; then root=$type; fi; done </proc/self/mounts
echo "root $root"
links=
for link in /sys/class/net/*/iflink; do
    case $link in */lo/*) ;; *) if read -r number <"$link"; then links="$links $number"; fi ;; esac
done
echo "links$links"
while read -r key value _; do
    case $key in Seccomp:) echo "seccomp $value" ;; CapEff:) echo "capabilities $value" ;; esac
done </proc/self/status
