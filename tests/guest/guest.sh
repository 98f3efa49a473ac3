#!/bin/sh
# Runs in the guest, on the host's files: a Docker engine of its own, then the cells.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root
mount -t tmpfs run /run
mkdir -p /dev/shm /dev/pts /lib/modules /var/lib/docker
mount -t tmpfs shm /dev/shm
mount -t devpts pts /dev/pts
mount -t cgroup2 cgroup /sys/fs/cgroup
mount --bind MODULES /lib/modules
mount /dev/vda /var/lib/docker
ln -sf "$(command -v busybox)" /usr/sbin/modprobe
for module in bridge veth br_netfilter loop squashfs; do modprobe "$module"; done
hostname guest
ip link set lo up
echo "GUEST up"
dockerd --iptables=false --bridge=none --storage-driver overlay2 >/run/dockerd.log 2>&1 &
tries=0
until docker info >/dev/null 2>&1 || [ $tries -gt 300 ]; do
    tries=$((tries + 1))
    sleep 0.2
done
PYTHONPATH=PROJECT/scripts PYTHON PROJECT/tests/guest/inside.py INPUTS
modprobe openvswitch
PYTHONPATH=PROJECT/scripts PYTHON PROJECT/tests/guest/switch.py
echo "GUEST done"
busybox poweroff -f
