#!/usr/bin/env bash
# Installs what the measured runtimes need, and nothing else: Debian's packages, and steps such as docker.sh.
# packages.py says what each of them needs. With "all", it does so for every runtime. The workflow lists an optional
# runtime that is unavailable with its reason, and its tests are skipped. If a required one is unavailable, the user has
# to decide.
. "$(dirname "$0")/common.sh"

# Result of each step: several runtimes need the same step, and its reason is printed once.
declare -A outcome
take() {
    if [ -z "${outcome[$1]:-}" ]; then
        # A step must not read the list of the loop below.
        if bash "$PROJECT/scripts/setup/$1" </dev/null; then outcome[$1]=done; else outcome[$1]=failed; fi
    fi
    [ "${outcome[$1]}" = done ]
}
get() {
    local name=$1 steps=$2 step
    shift 2
    # If a package is missing, set-up ends for this runtime and goes on for the others.
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
    || die "config/config.yaml requires a runtime that is not available here: the reason is above. To go on without it: ./plimsoll drop ${lacking[*]}"
