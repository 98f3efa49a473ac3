# Two commands on a fresh machine: `make reproduce` and `make test`. Both can be run again at any time.
#
#   make reproduce                  the studies of config/config.yaml, on the quick profile
#   make reproduce STUDIES=all      every study; or one by name
#   make reproduce PROFILE=paper    another profile of config/profiles/

STUDIES ?=
PROFILE ?= quick
settings = profile=$(PROFILE) $(if $(STUDIES),studies=$(STUDIES))

.PHONY: reproduce test setup lint bench

reproduce: setup
	.venv/bin/snakemake --cores 1 all --config $(settings)

test: setup lint
	@bash scripts/setup/guest.sh
	.venv/bin/python -m pytest

setup:
	@bash scripts/setup/all.sh

lint:
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/snakefmt --check Snakefile rules
	.venv/bin/snakemake --lint

# Figures about the workflow's own cost; nothing is asserted.
bench: setup
	.venv/bin/python -m tests.bench
