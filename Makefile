# make demo   sets up a virtual environment and trains a network on handwritten digits
# make test   sets up and runs the tests
# make examples  runs every program in examples/
# make libraries  runs optax, chex, einops and others on tetrad and on JAX
# make conformance  compares tens of thousands of calls with JAX, and prints where they disagree
# make lint   ruff, mypy --strict, import contracts
# make bench  prints tables of our benchmarks (against JAX where it is installed)

PYTHON ?= python3
VENV ?= .venv
BIN = $(VENV)/bin
JOBS ?= 2

# Programs that import tetrad, and programs that import jax.
EXAMPLES = digits eight_schools kepler lynx_and_hares heat char_rnn find_a_leak
JAX_EXAMPLES = nile_kalman co2_gaussian_process photograph mixer_digits \
               char_transformer digits_with_optax

.PHONY: demo examples test test-slow oracle conformance libraries lint bench wheel clean

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
	set -e; for name in $(JAX_EXAMPLES); do echo "== $$name"; $(BIN)/python -m tetrad examples/$$name.py; done

test: $(VENV)/.demo $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) -m "not slow and not libraries"

test-slow: $(VENV)/.demo $(VENV)/.test
	$(BIN)/python -m pytest -n $(JOBS) -m slow

oracle: $(VENV)/.demo $(VENV)/.test $(VENV)/.conformance
	$(BIN)/python -m pytest -n $(JOBS) -m oracle

libraries: $(VENV)/.demo $(VENV)/.test $(VENV)/.libraries
	$(BIN)/python -m pytest -n $(JOBS) -m libraries

conformance: $(VENV)/.demo $(VENV)/.test $(VENV)/.conformance
	PYTHONPATH=tools:tests $(BIN)/python -m comparisons --processes $(JOBS)

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
