# Two commands on a fresh machine: `make reproduce` and `make test`. Both can be run again at any time.
#
#   make reproduce                  the studies of config/config.yaml, on the quick profile
#   make reproduce STUDIES=all      every study; or one by name
#   make reproduce PROFILE=paper    another profile of config/profiles/
#   make precise WIDTH=0.1 MAXIMUM=30   repeat until every interval is narrower than 10 %, at most 30 times

STUDIES ?=
PROFILE ?= quick
settings = profile=$(PROFILE) $(if $(STUDIES),studies=$(STUDIES))

WIDTH ?= 0.1
MAXIMUM ?= 30

.PHONY: reproduce precise test setup lint bench

reproduce: setup
	.venv/bin/snakemake --cores 1 all --config $(settings)

# More repetitions of the cells whose comparisons are too wide, then everything from them.
precise: setup
	PYTHONPATH=scripts .venv/bin/python -m plimsoll precise --study $(or $(STUDIES),liu2020) --width $(WIDTH) --maximum $(MAXIMUM) $(settings)
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
