#!/usr/bin/env bash
# What the tests' guest with two memory nodes needs (tests/guest): QEMU, virtiofsd, busybox, and a Debian kernel to boot in it.
# Where it cannot be had the test is skipped with the reason.
. "$(dirname "$0")/common.sh"

folder="$PREFIX/guest"
[ -f "$folder/boot/vmlinuz" ] && have qemu-system-x86_64 && have busybox && exit 0
if [ "$(uname -m)" != x86_64 ] || ! is_root || ! have apt-get; then exit 0; fi

packages=(qemu-system-x86 busybox-static cpio)
# From Debian 13 on it is a package of its own.
if apt-cache show virtiofsd >/dev/null 2>&1; then packages+=(virtiofsd); fi
need_packages "The guest with two memory nodes" "${packages[@]}"

say "fetching a kernel for the guest with two memory nodes"
kernel="$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image-/ {print $2; exit}')"
new="$(mktemp -d "$PREFIX/.guest.XXXXXX")"
trap 'rm -rf "$new"' EXIT
(cd "$new" && apt-get -qq -o APT::Sandbox::User=root -o Acquire::Retries=3 download "$kernel" >/dev/null) \
    || die "the kernel package $kernel could not be fetched: check the network, then run again."
dpkg -x "$new"/*.deb "$new"
rm "$new"/*.deb
mv "$new"/boot/vmlinuz-* "$new/boot/vmlinuz"
busybox depmod -b "$new" "$(basename "$new"/lib/modules/*)"
chmod 755 "$new"
rm -rf "$folder"
mv "$new" "$folder"
