"""Runs the cases of a program and writes what each returned: `record.py NAME OUT`.

A program is a module beside this one whose `CASES` maps names to functions without
arguments. It says `import jax`: under `python -m tetrad` that is tetrad. What a case
returns (a pytree of arrays, numbers and strings) is written with NumPy arrays in place
of arrays; an exception is written as its traceback.
"""

import importlib.util
import pickle
import sys
import traceback
import warnings
from pathlib import Path

import numpy as np


def plain(value):
    """The same with NumPy arrays, containers and nothing else."""
    if isinstance(value, dict):
        return {str(k): plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(v) for v in value]
    if value is None or isinstance(value, (str, bool, int, float, complex)):
        return value
    if hasattr(value, "dtype") and not isinstance(value, type):
        array = np.asarray(value)
        if array.dtype.kind == "V" or array.dtype.name.startswith(("bf", "float8")):
            return array.dtype.name, array.astype(np.float32)
        return array
    import jax

    leaves, treedef = jax.tree.flatten(value)
    if len(leaves) == 1 and leaves[0] is value:
        return repr(value)
    return [plain(leaf) for leaf in leaves]


def main(name, out):
    path = Path(__file__).with_name(f"{name}.py")
    spec = importlib.util.spec_from_file_location(name, path)
    program = importlib.util.module_from_spec(spec)
    sys.modules[name] = program
    spec.loader.exec_module(program)
    results = {}
    for case, fun in program.CASES.items():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                results[case] = "value", plain(fun())
        except Exception:
            results[case] = "error", traceback.format_exc()
    Path(out).write_bytes(pickle.dumps(results))


if __name__ == "__main__":
    main(*sys.argv[1:])
