# What is typed in a clone without knowing more: the command is `./plimsoll`, and `./plimsoll --help` lists what it does.
#
#   make reproduce                  ./plimsoll reproduce: install what is missing, measure the studies, write their pages
#     STUDIES=all HOURS=0.15 MINUTES=12 PROFILE=paper DIRECTORY=/data/run2 IMAGE=images.tar.gz
#     FROM=plimsoll-liu2020.zip CLAIMS=mine.yaml
#   make setup                      only install what the commands need (STUDIES=, IMAGE=)
#   make test                       the tests, on real containers: about an hour on two cores (LONG=1: all of them)
#   make test-units                 the quick ones of those that need no container: two minutes
#   make lint                       what the style checkers say
#   make docs                       the documentation as a site, in docs/_build
#   make bench                      the workflow's own cost
#   make faults HOURS=1             kill things while it measures (SEED=, NUMBER=, FAULTS=; docs/reports/faults.md)
#   make fuzz                       nonsense for every reader of files (SEED=, INPUTS=)

.DEFAULT_GOAL := help

# Variables that each target may be given. Any other is refused, because make would ignore a misspelt variable silently.
takes.reproduce = $(if $(FROM),FROM CLAIMS,STUDIES PROFILE DIRECTORY HOURS MINUTES IMAGE FROM)
takes.setup = STUDIES IMAGE
takes.test = LONG
takes.test-units =
takes.test-of-code = LONG
takes.test-of-users = LONG
takes.faults = SEED NUMBER FAULTS HOURS
takes.fuzz = SEED INPUTS
takes.bench =
takes.lint =
takes.docs =
takes.help =

targets = $(patsubst takes.%,%,$(filter takes.%,$(.VARIABLES)))
goals = $(or $(MAKECMDGOALS),help)
typed = $(foreach name,$(.VARIABLES),$(if $(findstring command line,$(origin $(name))),$(name)))
# Shown where a command that was interrupted can be typed again.
export PLIMSOLL_COMMAND = make $(strip $(goals) $(foreach name,$(typed),$(name)=$(if $(word 2,$($(name))),"$($(name))",$($(name)))))
# nearest WORD KNOWN: " (did you mean X?)", or nothing if no known word is like it.
nearest = $(shell typed='$(subst ','\'',$(1))' awk -f scripts/setup/nearest.awk $(2))
refuse = $(error $(1). Nothing was done)

# These are commands of ./plimsoll.
moved = list session precise compare archive image vulnerabilities new-system notebooks clean-up with without findings
now = $(patsubst with,add,$(patsubst without,drop,$(patsubst findings,hosts,$(1))))
ifneq ($(filter $(moved),$(goals)),)
$(call refuse,`make $(goals)` is $(foreach name,$(filter $(moved),$(goals)),`./plimsoll $(call now,$(name))`) now)
endif

unknown = $(filter-out $(targets),$(goals))
ifneq ($(unknown),)
$(call refuse,There is no target $(foreach name,$(unknown),`make $(name)`$(call nearest,$(name),$(targets))): `./plimsoll \
	--help` lists the commands and `make help` the targets)
endif
taken = $(foreach goal,$(goals),$(takes.$(goal)))
untaken = $(filter-out $(taken),$(typed))
ifneq ($(untaken),)
$(call refuse,`make $(goals)` takes no variable $(foreach name,$(untaken),$(name)$(call nearest,$(name),$(taken)))$(if \
	$(filter CLAIMS,$(untaken)), (CLAIMS goes with FROM=archive)); it takes $(or $(strip $(taken)),none))
endif

STUDIES ?=
IMAGE ?=
FROM ?=
CLAIMS ?=
PROFILE ?=
DIRECTORY ?=
HOURS ?=
MINUTES ?=
SEED ?= 2026
LONG ?= 0

# What a user gives, or the name of a file, reaches the shell only as the value of a variable, so it is never a command.
# (A default is set before this line: an exported variable is defined, and `?=` leaves it as it is.)
export STUDIES IMAGE FROM CLAIMS PROFILE DIRECTORY HOURS MINUTES SEED NUMBER FAULTS INPUTS
# Number of one start of the workflow (docs/reference/statuses.md).
export PLIMSOLL_START := $(shell date +%s%N)

.PHONY: help reproduce setup test test-units test-of-code test-of-users lint docs bench faults fuzz

help:
	@sed -n '/^[^#]/q; s/^#$$//p; s/^# \{1,3\}//p' Makefile

reproduce:
	@set -f; ./plimsoll reproduce $(if $(STUDIES),$$STUDIES) $(if $(HOURS),--hours "$$HOURS") $(if $(MINUTES),--minutes "$$MINUTES") \
		$(if $(PROFILE),--profile "$$PROFILE") $(if $(DIRECTORY),--directory "$$DIRECTORY") $(if $(IMAGE),--image "$$IMAGE") \
		$(if $(FROM),--from "$$FROM") $(if $(CLAIMS),--claims "$$CLAIMS")

# Tests that measure nothing take the processor time that the tests of users leave, whose images are built first. The rest has the
# machine to itself. With LONG=1 the tests that are marked `long`, those of clusters, and those of the guest with
# two memory nodes are included.
test: setup lint
	@bash scripts/setup/guest.sh $(if $(long),nodes)
	@bash scripts/setup/environments.sh all
	@bash scripts/setup/tests.sh
	@echo "Two groups of tests side by side, for some 20 minutes."
	$(MAKE) --no-print-directory --jobs=2 test-of-code test-of-users
	.venv/bin/python -m pytest -m alone $(units)
	.venv/bin/python -m pytest $(if $(long),,-m "not long") tests/containers tests/workflow tests/faults $(if $(long),tests/guest tests/cluster)

# The longest first, so that none is left alone at the end.
units = tests/dry tests/fuzz tests/unit
long = $(filter-out 0,$(LONG))
# Line by line, so that lines of the other group do not break into them.
by_lines = 2>&1 | sed --unbuffered ""

test-of-code:
	@set -o pipefail; chrt --idle 0 .venv/bin/python -m pytest -n auto --maxprocesses 4 --dist worksteal \
		-m "not alone$(if $(long),, and not long)" $(units) $(by_lines)

test-of-users:
	@.venv/bin/python -m tests.images
	@set -o pipefail; .venv/bin/python -m pytest $(if $(long),,-m "not long") tests/users $(by_lines)

test-of-code test-of-users: SHELL = bash

# What is typed after each change.
test-units:
	.venv/bin/python -m pytest -n auto --maxprocesses 4 --dist worksteal -m "not alone and not long and not slow" tests/unit

setup:
	@bash scripts/setup/all.sh

lint:
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/snakefmt --check Snakefile rules workflow scripts/plimsoll/features
	.venv/bin/snakemake --lint

docs:
	@bash scripts/setup/python.sh
	.venv/bin/python -m sphinx -q -n -W --keep-going -b html docs docs/_build
	@echo "docs/_build/index.html is the documentation."

# Numbers about the workflow's own cost; nothing is asserted.
bench: setup
	.venv/bin/python -m tests.bench

# Faults drawn from a seed, against each study (docs/reports/faults.md). It goes on where it stopped, for HOURS or until FAULTS
# have struck. Faults after which something was lost, wrong or left are made again first. NUMBER makes one again.
faults: setup
	.venv/bin/python -m tests.faults --seed "$$SEED" $(if $(NUMBER),--number $$NUMBER,--again $(if $(FAULTS),--faults "$$FAULTS") \
		$(if $(HOURS),--hours "$$HOURS"))

# Nonsense for every reader of files, beyond what the tests give (docs/reports/faults.md).
fuzz: setup
	.venv/bin/python -m tests.fuzz --seed "$$SEED" $(if $(INPUTS),--inputs "$$INPUTS")
