#!/usr/bin/env bash
# Installs what only the tests need: an ssh client, and an ssh server that is no service of the machine
# (tests/containers/another.py). It also installs a Python that other users may run too, a compiler of MPI programs, a
# browser (browser.sh), and Slurm, whose daemons a test starts and ends (tests/cluster/slurm.py). Where Slurm or the
# browser is unavailable its tests are skipped.
. "$(dirname "$0")/common.sh"

is_root || exit 0
alone "$0"
need_packages "A test" dropbear-bin openssh-client python3 python3-venv libopenmpi-dev openmpi-bin
bash "$PROJECT/scripts/setup/browser.sh" || say "the tests of pages in a browser will be skipped"

# None of the daemons becomes a service of the machine, neither now nor at its next start. A killed set-up may have left
# this file.
policy=${PLIMSOLL_POLICY:-/usr/sbin/policy-rc.d} ours='# of Plimsoll, while it installs Slurm'
if grep -qsxF "$ours" "$policy"; then rm -f "$policy"; fi

slurm=(munge slurmctld slurmd slurm-client)
lacking=()
for package in "${slurm[@]}"; do there "$package" || lacking+=("$package"); done
if [ ${#lacking[@]} -gt 0 ]; then
    if ! [ -e "$policy" ]; then
        trap 'rm -f "$policy"' EXIT
        printf '#!/bin/sh\n%s\nexit 101\n' "$ours" >"$policy"
        chmod 755 "$policy"
    fi
    (need_packages "A test" "${slurm[@]}") || { say "the tests of Slurm will be skipped"; exit 0; }
    if have systemctl; then systemctl --quiet disable "${lacking[@]}" 2>/dev/null || true; fi
fi
# The plugin is put beside .venv, because other tests run .venv without it.
bash "$PROJECT/scripts/setup/slurm.sh" "$PROJECT/.cache/slurm" || say "the tests of Slurm will be skipped"
