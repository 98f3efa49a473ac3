#!/usr/bin/env bash
# Everything that the workflow needs on this machine. Each step is skipped when it is satisfied; any can be run by itself.
. "$(dirname "$0")/common.sh"
steps="$PROJECT/scripts/setup"

if is_root; then need_packages "The workflow" ca-certificates iproute2 squashfs-tools util-linux; fi
# Counters are a convenience: no perf, no counters.
if is_root && have apt-get && ! have perf && apt-cache show linux-perf >/dev/null 2>&1; then need_packages "Counting events" linux-perf; fi
for step in python environments; do bash "$steps/$step.sh"; done
# An engine that builds is there by now, if there is one. Images from a file are not built.
if [ -z "${IMAGE:-}" ]; then
    needed=$(PYTHONPATH="$PROJECT/scripts" "$PROJECT/.venv/bin/python" "$steps/packages.py" images)
    need_packages "Building images (make reproduce IMAGE=plimsoll-images.tar.gz takes them from a file instead)" $needed
fi
