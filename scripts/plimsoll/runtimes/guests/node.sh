# First program of a guest in the image's file system: it makes the guest a node, and then starts programs in it.
#
# QEMU hands in `node`, which is shell variables (guests/machine.py). A guest that runs one program and ends has it on a
# second disk, as an archive. Other guests get commands on a port: `clock`, or `run SIZE` and an archive of as many
# bytes, with the node's folder and a script. The answer to `clock` is the guest's uptime. The answer to `run` is `CODE
# SIZE` and an archive: what the script and its programs wrote into the folder, and their output.
busybox=/run/plimsoll/busybox
work=/run/plimsoll/work
given=/sys/firmware/qemu_fw_cfg/by_name/opt/plimsoll
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
say() { echo "plimsoll $*" >/dev/ttyS0; }
try() { "$@" || { say "failed: $*"; $busybox poweroff -f; }; }

# Runs the script of an archive; leaves the exit code in `code`, and the answer's archive in $work/answer.
run() {
    $busybox rm -rf $work
    $busybox mkdir -p $work
    # Files that were sent are from 1970, and `begun` is a second younger. A file that is still younger was written by a
    # program.
    $busybox tar -x -f "$1" -C /
    /bin/sh $work/script >$work/out 2>$work/err </dev/null
    code=$?
    # Tar's only message is that it removes the first slash of names.
    { $busybox find "$FOLDER" -type f -newer $work/begun -print0; printf '%s\0' $work/out $work/err; } |
        $busybox xargs -0 $busybox tar -c -f $work/answer 2>/dev/null
}
answer() {
    echo "$code $($busybox stat -c %s $work/answer)" >&3
    $busybox cat $work/answer >&3
}

$busybox cat $given/node/raw >/run/plimsoll/settings
. /run/plimsoll/settings
export HOME="$FOLDER/home"
$busybox mkdir -p /dev/pts /dev/shm /tmp "$HOME"
$busybox mount -t devpts pts /dev/pts
$busybox mount -t tmpfs shm /dev/shm
$busybox hostname "$NAME"
echo "127.0.0.1 localhost $NAME" >/etc/hosts
try $busybox ip link set lo up
if [ -n "$ADDRESS" ]; then
    try $busybox ip address add "$ADDRESS" dev eth0
    try $busybox ip link set eth0 up
    try $busybox ip route add default via "$GATEWAY"
fi
until [ -c /dev/vport*p1 ]; do $busybox sleep 0.01; done
port=$(echo /dev/vport*p1)
if [ -n "$SCRATCH" ]; then
    # Then the second disk has nothing else on it.
    try $busybox mount -t ext4 /dev/vdb "$SCRATCH"
elif [ -b /dev/vdb ]; then
    run /dev/vdb
    exec 3>"$port"
    answer
    read -r up _ </proc/uptime
    say "end $up"
    $busybox poweroff -f
fi
exec 3<>"$port"
if [ -n "$SERVICE" ]; then /bin/sh -c "exec $SERVICE" >/run/plimsoll/service 2>&1 </dev/null 3<&- & fi
say "ready"
while read -r word size <&3; do
    case $word in
    clock) read -r up _ </proc/uptime; echo "$up" >&3 ;;
    run) $busybox head -c "$size" <&3 >/run/plimsoll/asked; run /run/plimsoll/asked; answer ;;
    esac
done
say "failed: the port is closed"
$busybox poweroff -f
