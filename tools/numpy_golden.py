"""Writes tests/golden/numpy.json: what JAX gives for the expressions beside it.

    python tools/numpy_golden.py        # in an environment with jax 0.10.2

Every line of tests/golden/numpy_expressions.txt is evaluated in the namespace that its
first lines (those with `=`) make; values, dtypes, weak types, or the type of the error
are kept.
"""

import json
import pathlib
import warnings

import jax
import jax.numpy as jnp
import numpy as np

GOLDEN = pathlib.Path(__file__).parent.parent / "tests" / "golden"


def packed(result):
    """A result as JSON: arrays with their types, other values by their repr."""
    if isinstance(result, (tuple, list)):
        return {"items": [packed(item) for item in result]}
    if not isinstance(result, jax.Array):
        return {"repr": repr(result)}
    host = np.asarray(result)
    kind = {"dtype": host.dtype.name, "shape": host.shape, "weak": result.weak_type}
    if host.dtype.kind == "c":
        values = [[repr(float(v.real)), repr(float(v.imag))] for v in host.ravel()]
    elif host.dtype.kind in "iub":
        values = host.ravel().tolist()
    else:
        values = [repr(float(v)) for v in host.ravel()]
    return {**kind, "values": values}


def main():
    text = (GOLDEN / "numpy_expressions.txt").read_text().splitlines()
    lines = [line for line in text if line and not line.startswith("#")]
    names = {"jax": jax, "jnp": jnp, "np": np}
    found = {}
    for line in lines:
        if line.startswith("let "):
            exec(line[4:], names)
            continue
        try:
            found[line] = packed(eval(line, names))
        except Exception as error:
            kinds = [
                k.__name__ for k in type(error).__mro__ if k.__module__ == "builtins"
            ]
            found[line] = {"error": kinds[0]}
    rows = [f"{json.dumps(key)}: {json.dumps(value)}" for key, value in found.items()]
    (GOLDEN / "numpy.json").write_text("{\n" + ",\n".join(rows) + "\n}\n")


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main()
