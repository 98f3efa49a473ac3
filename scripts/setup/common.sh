# Helpers of the set-up scripts; sourced, never run.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

PROJECT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# Folder for everything that set-up builds outside the project, so that all clones on a machine share it.
PREFIX="${PLIMSOLL_PREFIX:-/opt/plimsoll}"

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }
have() { [ -x "$(command -v "$1" 2>/dev/null)" ]; }
is_root() { [ "$(id -u)" -eq 0 ]; }

# alone SCRIPT... : runs this script again with a lock that only one set-up of the machine has at a time, and ends with
# it. The programs that it starts do not inherit the lock, because an engine would keep it for ever.
alone() {
    [ -z "${PLIMSOLL_ALONE:-}" ] || return 0
    mkdir -p "$PREFIX"
    PLIMSOLL_ALONE=1 exec flock --close "$PREFIX/.lock" bash "$@"
}

# How long another package manager is waited for (s).
APT_SECONDS="${PLIMSOLL_APT_SECONDS:-300}"

# Waits for another package manager instead of failing at its lock.
apt_get() { apt-get -qq -y -o "DPkg::Lock::Timeout=$APT_SECONDS" -o Acquire::Retries=3 "$@" >/dev/null; }

# Fetches the package lists. Their lock is one that no option of apt-get waits for: another set-up, or a timer, may have it.
update_lists() {
    local said end=$((SECONDS + APT_SECONDS))
    until said=$(apt_get update 2>&1); do
        if [[ $said != *"Could not get lock"* ]]; then
            printf '%s\n' "$said" >&2
            die "the package lists could not be fetched: check the network and the APT sources, then type the command again."
        fi
        [ "$SECONDS" -lt "$end" ] || die "another package manager has had the package lists for $APT_SECONDS s: let it end, then type the command again."
        sleep 1
    done
}

# Programs or files, one of which shows that a package is installed, however it was. Other packages have a program of
# their own name. For an empty entry dpkg decides: a program of that name may be a dynamic one, and a module is no
# program.
declare -A signs=(
    [busybox-static]=""
    [ca-certificates]="/etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem"
    [containernetworking-plugins]="/usr/lib/cni/bridge /usr/libexec/cni/bridge /opt/cni/bin/bridge"
    [docker-cli]=docker
    [docker.io]=dockerd
    [dropbear-bin]=dropbear
    [iproute2]=ip
    [libopenmpi-dev]=mpicc
    [linux-perf]=perf
    [munge]=munged
    [openmpi-bin]=mpirun
    [openssh-client]=ssh
    [openvswitch-switch]=ovs-vsctl
    [passt]=pasta
    [python3-venv]=""
    [qemu-system-x86]=qemu-system-x86_64
    [slurm-client]=sbatch
    [squashfs-tools]=mksquashfs
    [uidmap]=newuidmap
    [util-linux]=unshare
    [virtiofsd]="/usr/libexec/virtiofsd /usr/lib/qemu/virtiofsd"
    [xz-utils]=xz
)
# Folders of programs that users do not call by name.
HELPERS="${HELPERS:-/usr/sbin:/sbin:/usr/libexec/podman:/usr/local/libexec/podman:/usr/lib/podman:/usr/local/lib/podman}"

there() {
    local sign
    for sign in ${signs[$1]-$1}; do
        if [ "${sign#/}" != "$sign" ]; then [ -e "$sign" ] && return; else PATH="$PATH:$HELPERS" have "$sign" && return; fi
    done
    [ -z "${signs[$1]-$1}" ] && dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'
}

# need_packages WHY PACKAGE... : installs the missing packages, or says what to install by hand. For `a|b` one of them
# is enough, and `a` is installed if both are missing.
need_packages() {
    local why=$1 wanted package missing=()
    shift
    for wanted in "$@"; do
        for package in ${wanted//|/ }; do there "$package" && continue 2; done
        missing+=("${wanted%%|*}")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    is_root && have apt-get || die "$why needs ${missing[*]} (Debian's names of packages). Only root can install them: do so, then type the command again."
    # A package manager that was killed half-way refuses all work until this has been done.
    dpkg --configure -a >/dev/null || true
    say "installing ${missing[*]}"
    update_lists
    apt_get install --no-install-recommends "${missing[@]}" \
        || die "$why needs the packages ${missing[*]}, which could not be installed: run 'apt-get install ${missing[*]}' to see why."
}

# Prints the first Debian mirror that this machine's own APT sources name.
debian_mirror() {
    apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI)' 2>/dev/null \
        | awk '$1 == "Debian" && $2 == "main" {print $3; exit}'
}

# find_uv PYTHON : sets `uv` to the one on the PATH, or to the project's own, which that Python fetches in the locked
# version. uv trusts the authorities that the machine trusts, as pip and apt do: a network may have its own.
find_uv() {
    ! there ca-certificates || export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-true}"
    uv=$(command -v uv || true)
    [ -z "$uv" ] || return 0
    uv=$PROJECT/.cache/uv/bin/uv
    [ ! -x "$uv" ] || return 0
    "$1" -c 'import ensurepip, venv' 2>/dev/null || need_packages "The Python environment" python3-venv
    say "fetching uv"
    rm -rf "$PROJECT/.cache/uv"
    "$1" -m venv "$PROJECT/.cache/uv"
    "$PROJECT/.cache/uv/bin/python" -m pip -q install --require-hashes -r "$PROJECT/requirements-uv.lock" || die "uv could not be installed with pip: check the network, or install uv by hand, then type the command again."
}
