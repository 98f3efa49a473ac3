#!/usr/bin/env bash
# Installs Snakemake's plugin for Slurm, for rules/cluster.smk: into .venv on a login node, or into a FOLDER for
# Python's path. It is no part of set-up, because a Snakemake that has it does not start where neither squeue nor sacct
# is.
. "$(dirname "$0")/common.sh"
cd "$PROJECT"

have squeue || have sacct || die "neither squeue nor sacct is installed here: run this on the machine from which jobs of Slurm are submitted."
[ -x .venv/bin/python ] || bash scripts/setup/python.sh
find_uv .venv/bin/python
if [ $# -gt 0 ]; then place=(--target "$1"); else place=(); fi
"$uv" pip install -q --python .venv/bin/python "${place[@]}" --no-deps --require-hashes -r requirements-slurm.lock \
    || die "Snakemake's plugin for Slurm could not be installed: check the network, then type the command again."
