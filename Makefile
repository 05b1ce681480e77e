# Everything works from a fresh clone that has python3 and make.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
SHELL := bash

.PHONY: help venv audit test test-all lint evidence bench clean

help:
	@echo "make venv      the virtual environment (.venv) that the other targets use"
	@echo "make audit     judge Marabou and the built-in verifiers on the quick suite: audit/report.html"
	@echo "make test      linters, types and tests, a quarter of an hour on two cores"
	@echo "make test-all  the same with every campaign, simulation and environment in full"
	@echo "make lint      linters and types only"
	@echo "make evidence  the measurements behind the claims in the docs"
	@echo "make bench     time and size of building and checking the quick suite"
	@echo "make clean     remove what the other targets made, also .venv"

venv: $(READY)

# A Debian python3 may come without ensurepip; then python3 -m venv leaves a half-made folder.
$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV) || { rm -rf $(VENV); apt-get update && \
		apt-get install -y python3-venv && $(PYTHON) -m venv $(VENV); }
	$(BIN)/python -m pip install --quiet -c constraints.txt -e '.[dev]'
	# Alone: it asks for torchvision and an old requests, and imports neither.
	$(BIN)/python -m pip install --quiet -c constraints.txt --no-deps torchattacks
	touch $@

# Runs again where it was stopped; `make clean` forgets what was done. Exit code 1 says that a
# verifier was caught being unsound: that is a result here, not a failure of make. Without --suite it
# would ask `soundness` as well, where most tools go on to the timeout.
audit: $(READY)
	$(BIN)/assay audit --suite quick --timeout 6 -o audit || [ $$? -eq 1 ]

lint: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

# Two workers on two cores: more threads in each would wait for one another. A file stays with one
# worker, so that what its tests share is made once; tests/conftest.py puts the longest files first.
PYTEST := OMP_NUM_THREADS=1 $(BIN)/pytest -n 2 --dist loadfile --no-loadscope-reorder

test: lint
	$(PYTEST)

test-all: lint
	ASSAY_TESTS=all $(PYTEST) --durations=40

evidence: $(READY)
	$(BIN)/python benchmarks/evidence.py
	$(BIN)/python benchmarks/difficulty.py measure
	$(BIN)/python benchmarks/difficulty.py draw

bench: $(READY)
	rm -rf audit/bench
	time -p $(BIN)/assay build quick -o audit/bench
	time -p $(BIN)/assay check audit/bench
	du -sh audit/bench

clean:
	rm -rf $(VENV) audit build dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests -name __pycache__ -type d -prune -exec rm -rf {} +
