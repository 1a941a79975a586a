# Two commands: `make demo` runs the main job, `make test` runs everything that checks it.
# Both make their own virtual environment from the lock, with uv where it is there, else with pip.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
READY := $(VENV)/.ready

.PHONY: demo up test check bench faults providers accuracy clean

demo: $(READY)
	$(BIN)/batch-pipeline demo

up: $(READY)
	$(BIN)/batch-pipeline up

test: check
	$(BIN)/pytest --numprocesses 2 --dist loadfile --no-loadscope-reorder

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

providers: $(READY)
	$(BIN)/python -m batch_pipeline_tests.providers.table

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
