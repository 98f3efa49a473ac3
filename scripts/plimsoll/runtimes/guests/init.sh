#!/bin/busybox sh
# First program of a guest: an image's file system, read-only under a layer in memory, becomes its root.
#
# Its messages on the console begin with `plimsoll`: `boot UPTIME` when it starts, `failed WORDS` when the guest cannot go on.
busybox=/bin/busybox
say() { echo "plimsoll $*" >/dev/ttyS0; }
try() { "$@" || { say "failed: $*"; $busybox poweroff -f; }; }

$busybox mount -t devtmpfs dev /dev
$busybox mount -t proc proc /proc
read -r up _ </proc/uptime
say "boot $up"
# With this word the only question is whether a guest boots.
read -r words </proc/cmdline
case " $words " in *" plimsoll.hello "*) $busybox poweroff -f ;; esac
$busybox mount -t sysfs sys /sys
for module in /modules/*; do try $busybox insmod "$module"; done
try $busybox mount -t squashfs -o ro /dev/vda /lower
try $busybox mount -t tmpfs layer /upper
$busybox mkdir /upper/changes /upper/work
try $busybox mount -t overlay -o lowerdir=/lower,upperdir=/upper/changes,workdir=/upper/work root /root
$busybox mkdir -p /root/run/plimsoll
$busybox cp /bin/busybox /node.sh /root/run/plimsoll/
for folder in proc sys dev; do $busybox mount --move "/$folder" "/root/$folder"; done
exec $busybox switch_root /root /run/plimsoll/busybox sh /run/plimsoll/node.sh
