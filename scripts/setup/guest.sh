#!/usr/bin/env bash
# Fetches a Debian kernel for virtual machines, with its modules. With "nodes" it also installs what the tests' guest
# with two memory nodes needs (tests/guest). Where that is unavailable, the test is skipped with the reason.
. "$(dirname "$0")/common.sh"

folder="$PREFIX/guest"
if [ "$(uname -m)" != x86_64 ] || ! is_root || ! have apt-get; then exit 0; fi
alone "$0" "$@"
packages=(qemu-system-x86 busybox-static cpio xz-utils)
# From Debian 13 on virtiofsd is a package of its own.
if [ "${1:-}" = nodes ] && apt-cache show virtiofsd >/dev/null 2>&1; then packages+=(virtiofsd); fi
need_packages "A virtual machine" "${packages[@]}"
[ -f "$folder/boot/vmlinuz" ] && exit 0

say "fetching a kernel for virtual machines"
update_lists
mkdir -p "$PREFIX"
kernel="$(apt-cache depends linux-image-cloud-amd64 | awk '/Depends: linux-image-/ {print $2; exit}')"
new="$PREFIX/.guest.new"
rm -rf "$new"
mkdir "$new"
trap 'rm -rf "$new"' EXIT
(cd "$new" && apt-get -qq -o APT::Sandbox::User=root -o Acquire::Retries=3 download "$kernel" >/dev/null) \
    || die "the kernel package $kernel could not be fetched: check the network, then type the command again."
dpkg -x "$new"/*.deb "$new"
rm "$new"/*.deb
mv "$new"/boot/vmlinuz-* "$new/boot/vmlinuz"
# From Debian 13 on modules are in /usr, and compressed, which busybox cannot load.
if ! [ -d "$new/lib/modules" ]; then mkdir -p "$new/lib" && mv "$new/usr/lib/modules" "$new/lib/"; fi
find "$new/lib/modules" -name '*.ko.xz' -exec xz --decompress {} +
busybox depmod -b "$new" "$(basename "$new"/lib/modules/*)"
chmod 755 "$new"
rm -rf "$folder"
mv "$new" "$folder"
