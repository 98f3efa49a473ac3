#!/usr/bin/env bash
# Debian's packages for the runtimes that are measured (packages.py); each runtime names its own. With "all", for every runtime.
# One that is optional and cannot be had is listed with its reason by the workflow, and its tests are skipped.
. "$(dirname "$0")/common.sh"

PYTHONPATH="$PROJECT/scripts" "$PROJECT/.venv/bin/python" "$PROJECT/scripts/setup/packages.py" "$@" | while read -r name wish packages; do
    missing=()
    for package in $packages; do installed "$package" || missing+=("$package"); done
    [ ${#missing[@]} -gt 0 ] || continue
    if [ "$wish" = required ]; then
        need_packages "The runtime $name" "${missing[@]}"
    elif is_root && have apt-get; then
        (need_packages "The runtime $name" "${missing[@]}") || say "the runtime $name, which is optional, will not be measured"
    fi
done
