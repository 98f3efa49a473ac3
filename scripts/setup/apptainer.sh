#!/usr/bin/env bash
# Provides Apptainer or Singularity: the one on the PATH if there is one, otherwise Debian sid's Apptainer, run in place.
#
# Only sid has a package of Apptainer, and it needs a newer C library than a stable release has. So sid is listed apart
# from the machine's own APT sources, and the packages are unpacked into a prefix of their own. The two executables use
# that prefix's loader and libraries. Nothing of sid is installed on the machine.
. "$(dirname "$0")/common.sh"

home=$PREFIX/apptainer
works() { "$1" buildcfg >/dev/null 2>&1; }
for name in "$home/bin/apptainer" apptainer singularity; do
    if have "$name" && works "$name"; then exit 0; fi
done

is_root || die "neither apptainer nor singularity is installed: install one of them by hand (for example Debian's or the project's own package), then type the command again."
alone "$0"
need_packages "Apptainer" squashfs-tools uidmap containernetworking-plugins iptables iproute2 patchelf ca-certificates
mirror=$(debian_mirror)
[ -n "$mirror" ] || die "no Debian mirror is configured in APT: install apptainer or singularity by hand, then type the command again."

say "unpacking Apptainer from Debian sid into $home"
# The name is always the same, so the next set-up removes what a killed one has left.
work=$PREFIX/.apptainer.new
rm -rf "$work"
trap 'rm -rf "$work"' EXIT
mkdir -p "$work"/{lists/partial,cache/archives/partial,tree,empty}
echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror sid main" >"$work/sid.list"
sid=(-qq -o "Dir::Etc::SourceList=$work/sid.list" -o "Dir::Etc::SourceParts=$work/empty" -o "Dir::State::Lists=$work/lists"
    -o "Dir::Cache=$work/cache" -o APT::Sandbox::User=root -o Acquire::Retries=3)
apt-get "${sid[@]}" update || die "Debian sid's package list could not be fetched: install apptainer by hand, then type the command again."
(cd "$work" && apt-get "${sid[@]}" download apptainer libc6 libseccomp2 libsqlite3-0) \
    || die "Apptainer could not be downloaded from Debian sid: install it by hand, then type the command again."
for package in "$work"/*.deb; do dpkg -x "$package" "$work/tree"; done

# Built aside and moved into place, so that a kill leaves no half of it. The executables already name the final place.
new=$home.new
rm -rf "$new"
mkdir -p "$PREFIX"
# Apptainer finds its configuration beside its own bin/: usr/ and etc/ become one level.
cp -a "$work/tree/usr" "$new"
cp -a "$work/tree/etc" "$work/tree/var" "$new/"
libraries=lib/x86_64-linux-gnu
for executable in bin/apptainer "$libraries/apptainer/bin/starter"; do
    patchelf --set-interpreter "$home/$libraries/ld-linux-x86-64.so.2" "$new/$executable"
    patchelf --force-rpath --set-rpath "$home/$libraries" "$new/$executable"
done
# The starter sits one level deeper than in an unpackaged installation and looks for these from there.
ln -s ../etc ../var "$new/lib/"

set_option() { sed -i "s|^#\? *$1 *=.*|$1 = $2|" "$new/etc/apptainer/apptainer.conf"; }
if [ ! -d /run/systemd/system ]; then set_option "systemd cgroups" no; fi
# The full set of capabilities can only be granted if this process has it itself.
last=$(cat /proc/sys/kernel/cap_last_cap)
full=$(printf '%x' $(((1 << (last + 1)) - 1)))
if [ "$(awk '/^CapEff/ {print $2}' /proc/self/status | sed 's/^0*//')" != "$full" ]; then set_option "root default capabilities" no; fi
set_option "cni configuration path" "$home/etc/apptainer/network"
set_option "cni plugin path" /usr/lib/cni

rm -rf "$home"
mv "$new" "$home"
"$home/bin/apptainer" --version >/dev/null || die "the unpacked Apptainer in $home does not run: install apptainer by hand, then type the command again."
