# `make demo` aligns the shipped sample and writes out/; `make test` runs every check; `make docs` builds the pages of
# docs/ into out/docs. All make .venv first.
SHELL := /bin/bash
PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell command -v $(name))))
VENV ?= .venv
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1
export OPENBLAS_NUM_THREADS ?= 1
# compiled files are kept, whatever the shell says: tests start the program a hundred times
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test docs clean

demo: $(VENV)/.installed
	$(BIN)/nmtalign demo -o out

test: $(VENV)/.installed-test
	$(BIN)/ruff check .
	@echo "mypy runs beside pytest; what it finds is told at the end"
	@$(BIN)/mypy >$(VENV)/mypy.txt 2>&1 & mypy=$$!; \
	$(BIN)/pytest -n 2 --dist worksteal; pytest=$$?; \
	wait $$mypy || { cat $(VENV)/mypy.txt; exit 1; }; exit $$pytest

docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env docs out/docs
	$(BIN)/nmtalign report data/en_fr_sample/text.en data/en_fr_sample/text.fr --gold data/en_fr_sample/gold.pharaoh -o out/docs/report.html

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) not found; name another: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable .
	touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[test]'
	touch $@ $(VENV)/.installed

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[docs]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf out build dist
