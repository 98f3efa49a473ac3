# Helpers of the set-up scripts; sourced, never run.
set -euo pipefail
export DEBIAN_FRONTEND=noninteractive LC_ALL=C.UTF-8

PROJECT="$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)"
# What set-up builds outside the project lives here, so that every clone on a machine shares it.
PREFIX="${PLIMSOLL_PREFIX:-/opt/plimsoll}"

say() { printf 'setup: %s\n' "$*"; }
die() { printf 'setup: %s\n' "$*" >&2; exit 1; }
have() { command -v "$1" >/dev/null 2>&1; }
is_root() { [ "$(id -u)" -eq 0 ]; }

# Waits for another package manager instead of failing at its lock.
apt_get() { apt-get -qq -y -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" >/dev/null; }

installed() { dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'; }

# need_packages WHY PACKAGE... : installs the missing ones, or says what to install by hand.
need_packages() {
    local why=$1 package missing=()
    shift
    for package in "$@"; do installed "$package" || missing+=("$package"); done
    [ ${#missing[@]} -gt 0 ] || return 0
    is_root && have apt-get || die "$why needs the packages ${missing[*]}: install them by hand (this needs root on Debian), then run again."
    # A package manager that was killed half-way refuses all work until this has been done.
    dpkg --configure -a >/dev/null || true
    say "installing ${missing[*]}"
    apt_get update || die "the package lists could not be fetched: check the network and the APT sources, then run again."
    apt_get install --no-install-recommends "${missing[@]}" \
        || die "$why needs the packages ${missing[*]}, which could not be installed: run 'apt-get install ${missing[*]}' to see why."
}

# The first Debian mirror that this machine's own APT sources name.
debian_mirror() {
    apt-get indextargets --format '$(ORIGIN) $(COMPONENT) $(REPO_URI)' 2>/dev/null \
        | awk '$1 == "Debian" && $2 == "main" {print $3; exit}'
}
