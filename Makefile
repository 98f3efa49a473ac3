# Plimsoll's commands. Each can be run again at any time, also after it was killed: what is measured stays measured.
#
#   make reproduce                  install what is missing, measure the studies of config/config.yaml, write their pages
#     STUDIES=all                   every study; or some by name: STUDIES=jha2021
#     MINUTES=12                    minutes in all, from set-up to the pages, in place of HOURS; foretold part by part
#     HOURS=0.15                    hours of measuring in all: a larger number goes on from there (liu2020 without HOURS: 1)
#     PROFILE=paper                 a profile of config/profiles/ with its own number of repetitions, in place of `quick`
#     DIRECTORY=/data/run2          keep the results in that folder
#     IMAGE=plimsoll-images.tar.gz  take the images from a file, where neither Docker nor Podman can build
#   make reproduce FROM=plimsoll-liu2020.zip
#                                   make everything of an archive again, without containers and without measuring
#     CLAIMS=mine.yaml              judge by claims of your own
#   make list                       studies, experiments, runtimes, figures and tables: their state, and the command for each
#   make without RUNTIMES='docker docker-ptrace'   never measure these on this machine (config/local.yaml)
#   make with RUNTIMES=podman-rootless             measure these too
#   make session                    measure the same studies once more, with the engine started and the images unpacked again
#   make precise WIDTH=0.1          repeat until every interval is narrower than 10 %, at most MAXIMUM=30 times
#   make compare A=results/reference/liu2020 B=results/liu2020
#                                   what changed between two sets of results (MARGIN=, ALL=1, STRICT=1, FORCE=1, OUT=folder)
#   make findings HOSTS='one two'   which claims hold on which host: folders with results, and archives (docs/hosts.md)
#   make archive STUDIES=liu2020    one file of all that was measured and made (FILE=..., RAW=1 with raw outputs, SMALL=1)
#   make image                      write the images into one file, for a machine that cannot build them (FILE=...)
#   make vulnerabilities            list those of the images that Debian has fixed since they were built
#   make new-system                 put aside what was measured before an upgrade of kernel, engine, firmware or settings
#   make notebooks                  open the figures' notebooks in JupyterLab, on the measurements in results/reference/
#   make clean-up                   remove what killed runs have left (ALL=1: images, too)
#   make setup                      only install what the other commands need
#   make test                       the tests, on real containers (LONG=1: all of them)

.DEFAULT_GOAL := help

# Variables that each command may be given. Any other is refused, because make would ignore a misspelt variable silently.
measured = STUDIES PROFILE DIRECTORY
takes.reproduce = $(if $(FROM),FROM CLAIMS,$(measured) HOURS MINUTES IMAGE FROM)
takes.session = $(measured) HOURS MINUTES IMAGE
takes.precise = $(measured) WIDTH MAXIMUM
takes.list = $(measured)
takes.archive = $(measured) FILE RAW SMALL
takes.image = STUDIES PROFILE FILE
takes.compare = A B MARGIN SESSION_BLOCKS OUT ALL STRICT FORCE
takes.findings = HOSTS
takes.with = RUNTIMES
takes.without = RUNTIMES
takes.vulnerabilities = DIRECTORY
takes.new-system = DIRECTORY
takes.clean-up = DIRECTORY ALL
takes.setup = STUDIES IMAGE
takes.notebooks = STUDIES
takes.test = LONG
takes.test-of-units = LONG
takes.test-of-users = LONG
takes.faults = SEED NUMBER FAULTS HOURS
takes.fuzz = SEED INPUTS
takes.bench =
takes.lint =
takes.help =

commands = $(patsubst takes.%,%,$(filter takes.%,$(.VARIABLES)))
goals = $(or $(MAKECMDGOALS),help)
typed = $(foreach name,$(.VARIABLES),$(if $(findstring command line,$(origin $(name))),$(name)))
# Shown where a command that was interrupted can be typed again.
export PLIMSOLL_COMMAND = make $(strip $(goals) $(foreach name,$(typed),$(name)=$(if $(word 2,$($(name))),"$($(name))",$($(name)))))
# nearest WORD KNOWN: " (did you mean X?)", or nothing if no known word is like it.
nearest = $(shell typed='$(subst ','\'',$(1))' awk -f scripts/setup/nearest.awk $(2))
refuse = $(error $(1). Nothing was done)

unknown = $(filter-out $(commands),$(goals))
ifneq ($(unknown),)
$(call refuse,There is no command $(foreach name,$(unknown),`make $(name)`$(call nearest,$(name),$(commands))): `make help` lists them)
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
RAW ?=
PROFILE ?= quick
DIRECTORY ?=
SMALL ?=
HOSTS ?=
# Everything that is made and measured is in results/ of that folder.
place = $(if $(DIRECTORY),--directory "$$DIRECTORY")
settings = "profile=$$PROFILE" $(if $(STUDIES),"studies=$$STUDIES")

amount = $(if $(MINUTES),--minutes "$$MINUTES",$(if $(HOURS),--hours "$$HOURS"))
# The quick profile is for a given time, or for the usual time of a study. The others say how often everything is repeated.
HOURS ?= $(if $(filter quick,$(PROFILE)),usual)
MINUTES ?=
ifneq ($(and $(MINUTES),$(filter command line,$(origin HOURS))),)
$(call refuse,HOURS is the time of measuring and MINUTES that of all: give one of them)
endif
WIDTH ?= 0.1
MAXIMUM ?= 30
SEED ?= 2026
LONG ?= 0

# Set-up installs what these studies need, and what building their images needs if they do not come from a file. What a
# user gives, or the name of a file, reaches the shell only as the value of a variable, so it is never a command. (A
# default is set before this line: an exported variable is defined, and `?=` leaves it as it is.)
export STUDIES IMAGE FROM CLAIMS PROFILE DIRECTORY HOSTS HOURS MINUTES WIDTH MAXIMUM FILE A B MARGIN SESSION_BLOCKS OUT RUNTIMES
export SEED NUMBER FAULTS INPUTS
# Number of one start of the workflow (docs/statuses.md).
export PLIMSOLL_START := $(shell date +%s%N)

.PHONY: help clean-up faults fuzz list image vulnerabilities archive compare findings with without new-system session notebooks reproduce precise test \
	test-of-units test-of-users setup lint bench

help:
	@sed -n '/^[^#]/q; s/^#$$//p; s/^# \{1,3\}//p' Makefile

ifneq ($(FROM),)
# This needs only the Python environment: no engine, no root, and nothing of this machine.
reproduce:
	@bash scripts/setup/python.sh
	@PYTHONPATH=scripts .venv/bin/python -m plimsoll remake --file "$$FROM" $(if $(CLAIMS),--claims "$$CLAIMS")
else
# Set-up foretells how long all of it takes.
reproduce: export PLIMSOLL_FORETELL = yes
reproduce: setup
	$(if $(IMAGE),@PYTHONPATH=scripts .venv/bin/python -m plimsoll take-images --file "$$IMAGE" $(settings))
	$(if $(amount),PYTHONPATH=scripts .venv/bin/python -m plimsoll $(place) hours $(amount) $(settings))
	.venv/bin/snakemake $(place) --cores 1 all --config $(settings)
endif

# For a machine that cannot build images: they are built here.
image: setup
	@PYTHONPATH=scripts .venv/bin/python -m plimsoll image-file --output $(if $(FILE),"$$FILE",plimsoll-images.tar.gz) $(settings)

# Only for the images that were listed here. It takes Debian's package lists of the day.
vulnerabilities:
	@bash scripts/setup/python.sh
	@PYTHONPATH=scripts .venv/bin/python -m plimsoll $(place) vulnerabilities

# Measures nothing, and needs no engine.
archive:
	@bash scripts/setup/python.sh
	@PYTHONPATH=scripts .venv/bin/python -m plimsoll $(place) archive \
		$(if $(FILE),--output $(if $(DIRECTORY),"$$(realpath --canonicalize-missing -- "$$FILE")","$$FILE")) $(if $(filter-out 0,$(RAW)),--raw) \
		$(if $(filter-out 0,$(SMALL)),--small) $(settings)

# Shows what is there and what is not. It is quick, and needs no engine.
list:
	@bash scripts/setup/python.sh
	@PYTHONPATH=scripts .venv/bin/python -m plimsoll $(place) list $(settings)

# Another session shows what one day cannot. A session that was begun and not finished goes on.
session: setup
	@PYTHONPATH=scripts .venv/bin/python -m plimsoll $(place) new-session $(settings)
	@$(MAKE) --no-print-directory reproduce

# Measures nothing. Call the command without make if the exit status matters: make changes 1 into 2.
compare:
	@bash scripts/setup/python.sh
	@PYTHONPATH=scripts .venv/bin/python -m plimsoll compare "$$A" "$$B" $(if $(MARGIN),--margin "$$MARGIN") \
		$(if $(SESSION_BLOCKS),--session-blocks "$$SESSION_BLOCKS") $(if $(OUT),--out "$$OUT") $(if $(filter-out 0,$(ALL)),--all) \
		$(if $(filter-out 0,$(STRICT)),--strict) $(if $(filter-out 0,$(FORCE)),--force)

# Runs of two systems are never pooled. The workflow says so, and names this command.
new-system:
	@bash scripts/setup/python.sh
	@PYTHONPATH=scripts .venv/bin/python -m plimsoll $(place) new-system

# Removes the leftovers of killed runs. The next run removes them too, except for things that it would use itself. With
# ALL=1 this also removes images and all else that is kept for the next run. What set-up has installed stays.
clean-up:
	@bash scripts/setup/python.sh
	@PYTHONPATH=scripts .venv/bin/python -m plimsoll $(place) clean-up $(if $(filter command line,$(origin ALL)),$(if $(filter-out 0,$(ALL)),--all))

# More repetitions of the cells whose intervals are too wide, then everything from them.
precise: setup
	PYTHONPATH=scripts .venv/bin/python -m plimsoll $(place) precise --width "$$WIDTH" --maximum "$$MAXIMUM" $(settings)
	.venv/bin/snakemake $(place) --cores 1 all --config $(settings)

# A page that shows which claims hold on which hosts, and in results/reference. It measures nothing.
findings:
	@bash scripts/setup/python.sh
	@set -f; PYTHONPATH=scripts .venv/bin/python -m plimsoll compare-hosts --page hosts/findings.html --table hosts/findings.csv $$HOSTS

# A user decides once for a machine which unavailable runtimes it does without.
without with:
	@bash scripts/setup/python.sh
	@set -f; PYTHONPATH=scripts .venv/bin/python -m plimsoll $@ $$RUNTIMES

# Measures nothing. JupyterLab runs as root only with this option.
notebooks: setup
	cd notebooks && PYTHONPATH=../scripts ../.venv/bin/jupyter lab $(if $(filter 0,$(shell id -u)),--allow-root)

# Tests that measure nothing take the processor time that the tests of users leave, whose images are built first. The rest
# has the machine to itself. With LONG=1 the tests that are marked `long`, those of clusters, and those of the guest with
# two memory nodes are included.
test: setup lint
	@bash scripts/setup/guest.sh $(if $(long),nodes)
	@bash scripts/setup/environments.sh all
	@bash scripts/setup/tests.sh
	@echo "Two groups of tests side by side, for some 20 minutes."
	$(MAKE) --no-print-directory --jobs=2 test-of-units test-of-users
	.venv/bin/python -m pytest -m alone $(units)
	.venv/bin/python -m pytest $(if $(long),,-m "not long") tests/containers tests/workflow tests/faults $(if $(long),tests/guest tests/cluster)

units = tests/unit tests/dry tests/fuzz
long = $(filter-out 0,$(LONG))
# Line by line, so that lines of the other group do not break into them.
by_lines = 2>&1 | sed --unbuffered ""

test-of-units:
	@set -o pipefail; chrt --idle 0 .venv/bin/python -m pytest -n auto --maxprocesses 4 --dist worksteal \
		-m "not alone$(if $(long),, and not long)" $(units) $(by_lines)

test-of-users:
	@.venv/bin/python -m tests.images
	@set -o pipefail; .venv/bin/python -m pytest tests/users $(by_lines)

test-of-units test-of-users: SHELL = bash

setup:
	@bash scripts/setup/all.sh

lint:
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/snakefmt --check Snakefile rules
	.venv/bin/snakemake --lint

# Numbers about the workflow's own cost; nothing is asserted.
bench: setup
	.venv/bin/python -m tests.bench

# Faults drawn from a seed, against each study (docs/faults.md). It goes on where it stopped, for HOURS or until FAULTS
# have struck. Faults after which something was lost, wrong or left are made again first. NUMBER makes one again.
faults: setup
	.venv/bin/python -m tests.faults --seed "$$SEED" $(if $(NUMBER),--number $$NUMBER,--again $(if $(FAULTS),--faults "$$FAULTS") \
		$(if $(filter-out usual,$(HOURS)),--hours "$$HOURS"))

# Nonsense for every reader of files, beyond what the tests give (docs/faults.md).
fuzz: setup
	.venv/bin/python -m tests.fuzz --seed "$$SEED" $(if $(INPUTS),--inputs "$$INPUTS")
