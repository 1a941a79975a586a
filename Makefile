# Two commands: `make demo` runs the main job, `make test` runs everything that checks it.
# Both make their own virtual environment from the lock, with uv where it is there, else with pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready
# Independent servers of OpenAI's protocol, no dependencies of ours: tests of those that are not there are skipped.
PYTHON312 ?= python3.12
COUNTERPARTS := $(VENV)/counterparts
AIMOCK := 1.43.0
OGX := 1.5.0
OGX_NEEDS := aiosqlite==0.22.1 sqlalchemy==2.1.9 asyncpg==0.32.0 greenlet==3.5.6

.PHONY: demo up test check bench faults providers counterparts accuracy clean

demo: $(READY)
	$(BIN)/batch-pipeline demo

up: $(READY)
	$(BIN)/batch-pipeline up

# Three workers on two cores: a third of the time they wait for servers.
test: check
	$(BIN)/pytest --numprocesses 3 --dist loadfile --no-loadscope-reorder

check: $(READY)
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(READY)
	$(BIN)/python -m benchmarks

accuracy: $(READY)
	$(BIN)/python -m benchmarks.accuracy

faults: $(READY)
	$(BIN)/python -m batch_pipeline_tests.faults.table --all

providers: $(READY) counterparts
	$(BIN)/python -m batch_pipeline_tests.providers.table
	$(BIN)/pytest -rs batch_pipeline_tests/providers/test_openai_counterparts.py

# Each only where what it runs on is there, and once: a mark is left where it was installed.
counterparts:
	@if test -e "$(COUNTERPARTS)/aimock-$(AIMOCK)"; then :; \
	elif ! npm --version >/dev/null 2>&1 || ! node -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 20 || (a == 20 && b >= 15) ? 0 : 1)' 2>/dev/null; then \
	  echo "aimock is left out: it needs npm and Node 20.15 or later"; \
	elif npm install --prefix "$(COUNTERPARTS)/aimock" --silent --no-audit --no-fund --ignore-scripts --save-exact @copilotkit/aimock@$(AIMOCK); then \
	  touch "$(COUNTERPARTS)/aimock-$(AIMOCK)"; \
	else echo "aimock is left out: npm could not install it"; fi
	@if test -e "$(COUNTERPARTS)/ogx-$(OGX)"; then :; \
	elif ! $(PYTHON312) -m venv --help >/dev/null 2>&1; then \
	  echo "OGX is left out: it needs $(PYTHON312)"; \
	elif $(PYTHON312) -m venv "$(COUNTERPARTS)/ogx" && "$(COUNTERPARTS)/ogx/bin/python" -m pip install --quiet --disable-pip-version-check ogx==$(OGX) $(OGX_NEEDS); then \
	  touch "$(COUNTERPARTS)/ogx-$(OGX)"; \
	else rm -rf "$(COUNTERPARTS)/ogx"; echo "OGX is left out: pip could not install it"; fi

clean:
	rm -rf $(VENV) .batch_pipeline

$(READY): requirements.lock pyproject.toml
	@if command -v uv >/dev/null; then \
	  uv venv --quiet --allow-existing --python $(PYTHON) $(VENV) && \
	  uv pip sync --quiet --python $(BIN)/python --require-hashes requirements.lock && \
	  uv pip install --quiet --python $(BIN)/python --no-build-isolation --no-deps --editable . ; \
	else \
	  $(PYTHON) -m venv $(VENV) && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --require-hashes --requirement requirements.lock && \
	  $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation --no-deps --editable . ; \
	fi
	@touch $(READY)
