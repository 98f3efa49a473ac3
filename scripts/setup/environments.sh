#!/usr/bin/env bash
# Debian's packages for the runtimes that are measured, and other steps that they need (packages.py); each runtime names its own.
# With "all", for every runtime.
# One that is optional and cannot be had is listed with its reason by the workflow, and its tests are skipped.
. "$(dirname "$0")/common.sh"

PYTHONPATH="$PROJECT/scripts" "$PROJECT/.venv/bin/python" "$PROJECT/scripts/setup/packages.py" "$@" | while read -r name wish steps packages; do
    get() {
        need_packages "The runtime $name" $packages
        # What a step may read is not the list of this loop.
        for step in ${steps//[-,]/ }; do bash "$PROJECT/scripts/setup/$step" </dev/null || exit 1; done
    }
    if [ "$wish" = required ]; then
        get
    elif is_root && have apt-get; then
        (get) || say "the runtime $name, which is optional, will not be measured"
    fi
done
