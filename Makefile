# Two commands matter: `make run` starts the shell, `make test` proves that it works.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
COMPILED := $(VENV)/.compiled
MODEL := $(VENV)/share/aish/models/.ready
SOURCES := $(shell find src -name '*.py')

# A test module stays on one worker: its fixtures, such as a loaded model, are then made once.
# Many tests wait for a terminal, so three workers are faster than two on two cores.
WORKERS := $(shell $(PYTHON) -c 'import os; print(min(max(os.cpu_count() or 1, 3), 4))')
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadscope --no-loadscope-reorder

.PHONY: setup run test test-random check docs pictures bench bench-scale faults day effects mcp-servers drift servers jobs first-hour clean

setup: $(READY) $(COMPILED) $(MODEL)

# Everything the product and its tests need. Done once, and again when pyproject.toml changed.
$(READY): pyproject.toml
	@test -x $(BIN)/python || { echo "making $(VENV)"; $(PYTHON) -m venv $(VENV); }
	@echo "installing aish and what it needs"
	@$(BIN)/python -m pip install --disable-pip-version-check --quiet --progress-bar on --editable '.[dev]'
	@touch $@

# Start-up is several times slower without byte code, and many machines forbid Python to write it by itself.
$(COMPILED): $(READY) $(SOURCES)
	@$(BIN)/python -m compileall -q src
	@touch $@

# The weights of the embedded model, 98 MB, and of the search by meaning, 18 MB, kept inside $(VENV).
$(MODEL): $(READY)
	@$(BIN)/aish models pull smollm2-135m --shared
	@$(BIN)/aish models pull wordllama --shared
	@touch $@

# Without the variables of this make, which would change what another make prints in the shell.
run: setup
	@env -u MAKELEVEL -u MAKEFLAGS -u MFLAGS $(BIN)/aish

test: setup
	@$(PYTEST)

# Property tests with new examples. Repeat a run with the seed that it printed: make test-random SEED=123
test-random: setup
	@seed=$${SEED:-$$(od -An -N4 -tu4 /dev/urandom | tr -d ' ')}; echo "make test-random SEED=$$seed"; \
	$(PYTEST) -m hypothesis --hypothesis-seed=$$seed

check: setup
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python tools/watch.py
	$(BIN)/python tools/docs.py --check

docs: setup
	$(BIN)/ruff format --quiet .
	$(BIN)/python tools/docs.py
	WRITE_WEEK_PAGE=1 $(BIN)/python -m pytest -q tests/stories/test_week.py

pictures: setup
	$(BIN)/python tools/pictures.py

bench: setup
	$(BIN)/python -m bench

# The same with searches in a million turns, which take some minutes to make the first time.
bench-scale: setup
	$(BIN)/python -m bench --scale

faults: setup
	$(BIN)/python tools/faults.py

# A day of work in bash and in zsh, typed into a real tmux.
day: setup
	PYTHONPATH=tests $(BIN)/python tools/day.py

# Hostile commands in the fence: none may have an effect. Some minutes.
effects: setup
	PYTHONPATH=tests $(BIN)/python tools/effects.py

# Public MCP servers and the conformance suite, installed into $(VENV)/mcp-servers from the registries.
mcp-servers: setup
	$(BIN)/python tools/mcp_servers.py
	$(BIN)/python tools/mcp_conformance.py

# The real programs that aish imports from, installed into $(VENV)/drift: is every turn still found? Some minutes.
drift: setup
	$(BIN)/python tools/drift.py

# Real servers and proxies, from Debian, PyPI and npm, in a network of their own: what does aish say? Needs root.
servers: setup
	$(BIN)/python tools/servers.py

# What a newcomer asks in the first hour, in two projects, asked of the embedded model: make first-hour WEIGHTS=file.gguf
first-hour: setup
	$(BIN)/python tools/first_hour.py tests/first_hour/developer --weights $(WEIGHTS)
	$(BIN)/python tools/first_hour.py tests/first_hour/analyst --weights $(WEIGHTS)

# Eight small jobs of a developer, done by the model of your settings, or: make jobs WEIGHTS=file.gguf
jobs: setup
	$(BIN)/python tools/jobs.py $(if $(WEIGHTS),--weights $(WEIGHTS))

clean:
	rm -rf $(VENV) .mypy_cache .ruff_cache .pytest_cache .hypothesis
