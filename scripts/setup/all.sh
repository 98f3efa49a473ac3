#!/usr/bin/env bash
# Installs everything that the workflow needs on this machine. Each step is skipped if nothing is missing, and can also
# be run alone.
. "$(dirname "$0")/common.sh"
steps="$PROJECT/scripts/setup"

# The command that asks for the forecast runs in the Python environment, so that is there.
if [ -n "${PLIMSOLL_FORETELL:-}" ]; then
    PYTHONPATH="$PROJECT/scripts" "$PROJECT/.venv/bin/python" -m plimsoll.planning.timetable || true
fi

if is_root; then need_packages "The workflow" ca-certificates iproute2 squashfs-tools util-linux; fi
# Counters are optional: without perf there are no counters.
if is_root && have apt-get && ! have perf && apt-cache show linux-perf >/dev/null 2>&1; then need_packages "Counting events" linux-perf; fi
for step in python environments; do bash "$steps/$step.sh"; done
# An engine that can build is installed by now if possible. Images from a file are not built.
if [ -z "${IMAGE:-}" ]; then
    needed=$(PYTHONPATH="$PROJECT/scripts" "$PROJECT/.venv/bin/python" "$steps/packages.py" images)
    need_packages "Building images (./plimsoll reproduce --image plimsoll-images.tar.gz takes them from a file instead)" $needed
fi
