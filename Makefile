# Two environments, both made with pip alone: .venv (everything), .venv-mcp1 (the previous generation
# of the official MCP package, which cannot live beside the current one). `bench` makes one more.
PYTHON ?= python3
VENV := .venv
OLD := .venv-mcp1
FAST := .venv-fast
BIN := $(VENV)/bin
PIP := --quiet --disable-pip-version-check

SECONDS ?= 60

.PHONY: venv demo test conformance check bench fuzz faults clean

venv: $(VENV)/.ready $(OLD)/.ready

$(VENV)/.ready: pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install $(PIP) --upgrade "pip>=25.1"
	@$(BIN)/python -m pip install $(PIP) --editable ".[serve,cli,docstrings]" --group dev
	@touch $@

$(OLD)/.ready: Makefile
	@test -x $(OLD)/bin/python || $(PYTHON) -m venv $(OLD)
	@$(OLD)/bin/python -m pip install $(PIP) "mcp==1.30.0"
	@touch $@

demo: $(VENV)/.ready
	@$(BIN)/tesseron-py demo

test: venv
	@$(BIN)/coverage erase
	@$(BIN)/coverage run -m pytest --numprocesses 3 --dist loadfile
	@$(BIN)/coverage combine --quiet
	@$(BIN)/coverage report --fail-under=95

# The official MCP conformance suite, which `test` runs, too; REVISION=2025-11-25 runs one requirement set.
conformance: $(VENV)/.ready
	@$(BIN)/python -m tests.conformance.mcp $(REVISION)

check: $(VENV)/.ready
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/pyright --warnings
	@$(BIN)/python tests/typing/completeness.py

# One more environment: uvicorn takes uvloop and httptools wherever it finds them. ONLY=http measures a group, or a row.
$(FAST)/.ready: pyproject.toml
	@test -x $(FAST)/bin/python || $(PYTHON) -m venv $(FAST)
	@$(FAST)/bin/python -m pip install $(PIP) --upgrade "pip>=25.1"
	@$(FAST)/bin/python -m pip install $(PIP) --editable ".[serve]" --group bench
	@touch $@

bench: venv $(FAST)/.ready
	@$(BIN)/python -m benchmarks $(addprefix --only ,$(ONLY))

# Histories of faults over real processes, of which `test` plays a few; every byte of a prompt's life with
# `python -m tests.faults --every-byte`.
HISTORIES ?= 5000
faults: $(VENV)/.ready
	@$(BIN)/python -m tests.faults --histories $(HISTORIES)

# All targets share the time; what breaks one is printed with the command that plays it again.
fuzz: $(VENV)/.ready
	@$(BIN)/python -m pip install $(PIP) --group fuzz
	@$(BIN)/python -m tests.fuzz --seconds $(SECONDS) --jobs 2

clean:
	rm -rf $(VENV) $(OLD) $(FAST) tests/conformance/mcp/node_modules .coverage .coverage.* .mypy_cache .ruff_cache .fuzz
