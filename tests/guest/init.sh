#!/bin/busybox sh
# First program of the guest: the host's files, read-only under a layer in memory, become its root.
busybox=/bin/busybox
$busybox mount -t proc proc /proc
$busybox mount -t sysfs sys /sys
$busybox mount -t devtmpfs dev /dev
for module in /modules/*; do $busybox insmod "$module"; done
$busybox mount -t virtiofs host /lower
$busybox mount -t tmpfs -o size=600m layer /upper
$busybox mkdir /upper/changes /upper/work
$busybox mount -t overlay -o lowerdir=/lower,upperdir=/upper/changes,workdir=/upper/work root /root
for folder in proc sys dev; do $busybox mount --move "/$folder" "/root/$folder"; done
exec $busybox switch_root /root /bin/sh FOLDER/guest.sh
