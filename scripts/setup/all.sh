#!/usr/bin/env bash
# Everything that the workflow needs on this machine. Each step is skipped when it is satisfied; any can be run by itself.
. "$(dirname "$0")/common.sh"
steps="$PROJECT/scripts/setup"

if have dpkg-query && is_root; then need_packages "The workflow" ca-certificates iproute2 mmdebstrap util-linux; fi
for step in python docker apptainer; do bash "$steps/$step.sh"; done
