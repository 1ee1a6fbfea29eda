# `make demo` aligns the shipped sample and writes out/; `make test` runs every check; `make docs` builds the pages of
# docs/ into out/docs; `make search` looks a minute for examples that break a law. All make .venv first.
SHELL := /bin/bash
PYTHON ?= $(firstword $(foreach name,python3.11 python3.12 python3.13 python3,$(shell command -v $(name))))
VENV ?= .venv
SECONDS_OF_SEARCH ?= 60
BIN := $(VENV)/bin
export PIP_DISABLE_PIP_VERSION_CHECK = 1
# pip would compile 20,000 files one after the other; Python compiles those that are imported, and keeps them
PIP_INSTALL := pip install --quiet --no-compile
export OPENBLAS_NUM_THREADS ?= 1
# compiled files are kept, whatever the shell says: tests start the program a hundred times
export PYTHONDONTWRITEBYTECODE =

.PHONY: demo test search docs clean

demo: $(VENV)/.installed
	$(BIN)/nmtalign demo -o out

# Two cores: a third worker uses the time in which others wait for a browser or a process
test: $(VENV)/.installed-test $(VENV)/.installed-others
	$(BIN)/ruff check .
	@echo "mypy runs beside pytest; what it finds is told at the end"
	@$(BIN)/mypy >$(VENV)/mypy.txt 2>&1 & mypy=$$!; \
	$(BIN)/pytest -n 3 --dist worksteal; pytest=$$?; \
	wait $$mypy || { cat $(VENV)/mypy.txt; exit 1; }; exit $$pytest

# Passes with other examples until the time is up or one fails; keep what fails with @example
search: $(VENV)/.installed-test
	@end=$$(($$(date +%s) + $(SECONDS_OF_SEARCH))); while left=$$((end - $$(date +%s))); ((left > 0)); do \
	NMTALIGN_EXAMPLES=search timeout --foreground --signal=INT --kill-after=30 $$left \
	$(BIN)/pytest -x tests -m hypothesis --ignore=tests/browser; code=$$?; ((code == 0 || code == 124)) || exit $$code; done

docs: $(VENV)/.installed-docs
	$(BIN)/sphinx-build --quiet --fail-on-warning --keep-going --fresh-env docs out/docs
	$(BIN)/nmtalign report data/en_fr_sample/text.tok.en data/en_fr_sample/text.tok.fr --gold data/en_fr_sample/gold.pharaoh -o out/docs/report.html

$(BIN)/python:
	@command -v $(PYTHON) >/dev/null || { echo "make: $(PYTHON) not found; name another: make PYTHON=python3.12" >&2; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/.installed: pyproject.toml | $(BIN)/python
	$(BIN)/python -m $(PIP_INSTALL) --editable .
	touch $@

$(VENV)/.installed-test: pyproject.toml | $(BIN)/python
	$(BIN)/python -m $(PIP_INSTALL) --editable '.[test]'
	touch $@ $(VENV)/.installed

# Tests of a program that cannot be installed, for lack of a compiler perhaps, are skipped
$(VENV)/.installed-others: tests/other_programs.txt $(VENV)/.installed-test
	$(BIN)/python -m venv --clear --without-pip $(VENV)/others
	$(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))' \
		> "$$($(VENV)/others/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/of_tests.pth"
	$(BIN)/python -m pip --python $(VENV)/others/bin/python install --quiet --no-compile --no-deps -r tests/other_programs.txt \
		|| echo "other programs are not installed; their tests are skipped"
	touch $@

$(VENV)/.installed-docs: pyproject.toml | $(BIN)/python
	$(BIN)/python -m $(PIP_INSTALL) --editable '.[docs]'
	touch $@ $(VENV)/.installed

clean:
	rm -rf out build dist
