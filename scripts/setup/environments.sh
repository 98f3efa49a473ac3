#!/usr/bin/env bash
# What the runtimes need that are measured, and nothing else: Debian's packages, and steps such as docker.sh. packages.py says
# what each of them needs. With "all", every runtime.
# One that is optional and cannot be had is listed with its reason by the workflow, and its tests are skipped. One that is
# required is a question to whoever runs this.
. "$(dirname "$0")/common.sh"

# What each step came to: several runtimes need the same, and its reason is said once.
declare -A outcome
take() {
    if [ -z "${outcome[$1]:-}" ]; then
        # What a step may read is not the list of the loop below.
        if bash "$PROJECT/scripts/setup/$1" </dev/null; then outcome[$1]=done; else outcome[$1]=failed; fi
    fi
    [ "${outcome[$1]}" = done ]
}
get() {
    local name=$1 steps=$2 step
    shift 2
    # Set-up of one runtime ends where a package is missing, and that of the others goes on.
    [ $# -eq 0 ] || (need_packages "The runtime $name" "$@") || return 1
    for step in ${steps//[-,]/ }; do take "$step" || return 1; done
}

needed=$(PYTHONPATH="$PROJECT/scripts" "$PROJECT/.venv/bin/python" "$PROJECT/scripts/setup/packages.py" "$@")
lacking=()
while read -r name wish steps packages; do
    if get "$name" "$steps" $packages; then continue; fi
    if [ "$wish" = required ]; then lacking+=("$name"); else say "the runtime $name, which is optional, will not be measured"; fi
done < <([ -z "$needed" ] || printf '%s\n' "$needed")
[ ${#lacking[@]} -eq 0 ] \
    || die "config/config.yaml requires what cannot be had here, as said above. To go on without it: make without RUNTIMES='${lacking[*]}'"
