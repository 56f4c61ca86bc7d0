# make demo   sets up a virtual environment and trains a network on handwritten digits
# make test   sets up and runs the tests
# make examples  runs every program in examples/
# make lint   ruff, mypy --strict, import contracts
# make bench  prints tables of our benchmarks (against JAX where it is installed)

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
JOBS ?= 2

EXAMPLES = digits eight_schools kepler lynx_and_hares heat char_rnn

.PHONY: demo examples test test-slow oracle lint bench wheel clean

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --upgrade pip

# One stamp for each set of extras, remade when the requirements change.
$(VENV)/.%: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --editable '.[$*]'
	@touch $@

demo: $(VENV)/.demo
	$(BIN)/python examples/digits.py

examples: $(VENV)/.demo
	set -e; for name in $(EXAMPLES); do echo "== $$name"; $(BIN)/python examples/$$name.py; done

test: $(VENV)/.demo $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow"

test-slow: $(VENV)/.demo $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) -m slow

oracle: $(VENV)/.demo $(VENV)/.test $(VENV)/.conformance
	$(BIN)/python -m pytest -n $(JOBS) -m oracle

lint: $(VENV)/.lint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

bench: $(VENV)/.conformance
	$(BIN)/python benchmarks/run.py

wheel: | $(BIN)/python
	$(BIN)/python -m pip wheel --quiet --no-deps --wheel-dir dist .

clean:
	rm -rf $(VENV) dist build *.egg-info .pytest_cache .mypy_cache .ruff_cache
