# `make` alone lists the targets. PYTHON chooses the interpreter that a missing .venv is made with.
PYTHON ?= python3
BIN := .venv/bin
STAMP := .venv/.installed

.PHONY: help setup league test test-slow lint clean

help:  ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-10s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

setup: $(STAMP)  ## create .venv and install negzoo in it, with everything its tests need

league: $(STAMP)  ## train and evaluate the quick league, and print its table
	$(BIN)/negzoo league run leagues/quick.toml

test: $(STAMP)  ## run the tests
	$(BIN)/pytest -n auto

test-slow: $(STAMP)  ## run the tests that take longer
	$(BIN)/pytest -m slow

lint: $(STAMP)  ## check the style and the types
	$(BIN)/ruff check
	$(BIN)/ruff format --check
	$(BIN)/mypy --strict negzoo

clean:  ## remove .venv and every cache
	rm -rf .venv .mypy_cache .pytest_cache .ruff_cache .hypothesis build dist
	find . -name __pycache__ -prune -exec rm -rf {} +

$(BIN)/python:
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
		|| { echo "negzoo needs Python 3.11 or newer: make setup PYTHON=python3.11" >&2; exit 1; }
	$(PYTHON) -m venv .venv

$(STAMP): pyproject.toml constraints.txt | $(BIN)/python
	$(BIN)/python -m pip install --constraint constraints.txt --editable '.[dev]'
	@touch $@
