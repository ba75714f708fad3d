# The whole workflow. Every target sets up what it needs in .venv, from nothing but Python 3.11+
# and make; run `make help` for the list.

PYTHON ?= python3
VENV   := .venv
BIN    := $(VENV)/bin
SHARED ?= ../shared

export HORIZONTREE_SHARED ?= $(if $(wildcard $(SHARED)/datasets),$(abspath $(SHARED)),)
ifeq ($(HORIZONTREE_SHARED),)
unexport HORIZONTREE_SHARED
endif

.DEFAULT_GOAL := help
.PHONY: help demo test test-nojit test-slow check format bench bench-horizon study clean

help:  ## list the targets
	@grep -E '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

$(VENV)/made-for-use: pyproject.toml src/horizontree/_version.py
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || \
	  { echo "HorizonTree needs Python 3.11 or later; try: make PYTHON=python3.12 $(MAKECMDGOALS)"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@echo "Installing HorizonTree in $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[cli]'
	@touch $@

$(VENV)/made-for-development: $(VENV)/made-for-use
	@echo "Installing the development tools in $(VENV) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

demo: $(VENV)/made-for-use  ## CART, MH-DEOCT and HorizonTree on a small real data set
	@$(BIN)/python -m horizontree.demo

test: $(VENV)/made-for-development test-nojit  ## the test suite
	$(BIN)/python -m pytest -n 2 --dist worksteal -m "not slow"

test-nojit: $(VENV)/made-for-development  ## a small selection with the compiler off
	NUMBA_DISABLE_JIT=1 $(BIN)/python -m pytest -n 2 -q -m nojit

test-slow: $(VENV)/made-for-development  ## checks that take minutes
	$(BIN)/python -m pytest -m slow

check: $(VENV)/made-for-development  ## ruff and mypy
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/made-for-development  ## let ruff tidy up
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/made-for-development  ## speed, memory and start-up; writes docs/results/speed.md
	$(BIN)/python benchmarks/speed.py

bench-horizon: $(VENV)/made-for-development  ## HorizonTree against ConTree, proven optima, large data
	$(BIN)/python -m pip install --quiet --disable-pip-version-check pycontree
	$(BIN)/python benchmarks/horizon.py

STUDY := $(BIN)/horizontree bench study --results docs/results/study.csv --jobs 2 --time-limit 5

study: $(VENV)/made-for-development  ## the paper's study and its report; hours, resumable
	$(STUDY) --splits 90 --depths 2 3 --methods cart-sklearn cart deoct mh-deoct horizon
	$(STUDY) --splits 40 --methods cart-sklearn cart horizon cart-tuned horizon-tuned
	$(STUDY) --splits 10 --methods deoct mh-deoct streed
	$(STUDY) --splits 10 --depths 2 --methods contree quant-bnb
	$(STUDY) --splits 10 --splits-at 8=3 --methods mh-deoct-tuned mh-deoct-long cart-mdlp \
	  mh-deoct-mdlp horizon-mdlp
	$(STUDY) --splits 3 --methods ls-oct quant-bnb rs-oct contree gosdt-guesses cart-guesses \
	  mh-deoct-guesses horizon-guesses
	$(STUDY) --splits 10 --splits-at 8=3 --methods deoct-cold mh-deoct-cold mh-deoct-from-cart \
	  mh-deoct-from-deoct mh-deoct-from-local-cart mh-deoct-from-cart-deoct \
	  mh-deoct-from-cart-local-cart mh-deoct-from-deoct-local-cart mh-deoct-horizon-1 \
	  mh-deoct-horizon-2 mh-deoct-horizon-3 mh-deoct-horizon-4
	$(STUDY) --splits 1 --jobs 1 --depths 2 3 4 --methods mh-deoct-1-thread mh-deoct-2-threads \
	  horizon-1-thread horizon-2-threads --datasets skin-segmentation shuttle htru2 \
	  eeg-eye-state avila pendigits spambase iris
	$(STUDY) --splits 1 --jobs 1 --depths 2 --methods mh-deoct-jax --datasets avila spambase iris
	$(BIN)/horizontree bench report docs/results/study.csv

clean:  ## remove the virtual environment and caches
	rm -rf $(VENV) build dist .mypy_cache .ruff_cache .pytest_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
