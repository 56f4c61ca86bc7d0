"""No argument is accepted and then ignored: the sources are read to find those that are.

Every public function, and every method of a public class, must read each of its
parameters, or stand in the list below with the reason why it need not.
"""

import ast
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterator
from types import FunctionType, ModuleType
from typing import Any

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.core.op import Op
from tetrad._src.numpy.at import At, AtIndex

# Parameters that say what may be done, not what is to be done.
PERMISSIONS = {
    "overwrite_a": "a permission; arrays never change",
    "overwrite_b": "a permission; arrays never change",
    "overwrite_c": "a permission; arrays never change",
    "check_finite": "what is traced cannot be looked at; NaN gives NaN",
    "lwork": "how much memory LAPACK may use; it is asked for that itself",
    "turbo": "a choice between two algorithms for the same numbers",
    "debug": "SciPy's switch for its own tests",
    "unroll": "how a loop is written; there is none",
    "assume_unique": "a promise that would only save time",
    "indices_are_sorted": "a promise that would only save time",
    "unique_indices": "a promise that would only save time",
}

REASONS = {
    ("host_count", "backend"): "every platform has one process",
    ("host_id", "backend"): "every platform has one process",
    ("host_ids", "backend"): "every platform has one process",
    ("histogram_bin_edges", "weights"): "NumPy does not use them for edges either",
    ("bcoo_dot_general", "precision"): "products of elements are exact in their dtype",
    ("unique", "sorted"): "False is a permission not to sort",
    ("create_token", "after"): "for the order of XLA's programs; tokens are in order",
    ("ones", "key"): "initializers take a key; this one draws nothing",
    ("zeros", "key"): "initializers take a key; this one draws nothing",
    (
        "log_ndtr",
        "series_order",
    ): "the accuracy here does not depend on a count of terms",
    ("approx_max_k", "reduction_input_size_override"): "every answer is exact here",
    ("approx_min_k", "reduction_input_size_override"): "every answer is exact here",
    ("eig", "enable_eigvec_derivs"): "the derivatives exist in any case",
    ("eigh_tridiagonal", "tol"): "eigenvalues are found to rounding",
    ("eigh_tridiagonal", "key"): "nothing is drawn",
    ("argnums_partial", "require_static_args_hashable"): "nothing is hashed here",
    ("debug_info", "options"): "names of parameters that are found by themselves",
    ("Initializer.__call__", "*"): "a protocol",
    ("Tracer.tobytes", "*"): "refuses, whatever is asked for",
    ("new_ref", "*"): "refuses, whatever is asked for",
    ("freeze", "*"): "refuses, whatever is asked for",
    ("cur_qdd", "*"): "refuses, whatever is asked for",
    ("HiPrimitive.bind", "*"): "refuses, whatever is asked for",
    # There is one process, and its devices stand in one row.
    ("initialize", "*"): "of several processes, which are refused",
    ("create_device_mesh", "*"): "devices are not connected in any shape",
    ("create_hybrid_device_mesh", "*"): "devices are not connected in any shape",
    ("assert_equal", "*"): "one process agrees with itself",
    ("reached_preemption_sync_point", "*"): "one process waits for nobody",
    ("sync_global_devices", "*"): "one process waits for nobody",
    # Ways in for libraries that reach into JAX, with JAX's signatures.
    ("eval_jaxpr", "propagate_source_info"): "lines are kept in any case",
    ("Trace.origin", "x"): "the base of what subclasses say",
    ("find_top_trace", "values"): "traces have no levels",
    ("gensym", "suffix"): "variables have no names before they are printed",
    ("get_opaque_trace_state", "convention"): "there is one",
    ("mapped_aval", "size"): "the aval knows it",
    ("new_jaxpr_eqn", "effects"): "operations know their effects",
    ("new_jaxpr_eqn", "ctx"): "equations have no context",
    ("unmapped_aval", "unused"): "JAX does not use it either",
    ("cache", "explain"): "a hook of JAX's own logs",
    ("emit_python_callback", "*"): "what MLIR would want to know",
    ("register_lowering", "inline"): "how MLIR is put together",
    ("register_lowering", "cacheable"): "how MLIR is put together",
    ("Sharding.for_rank", "ndim"): "the base of what subclasses say",
    ("Sharding.check_rank", "*"): "the base of what subclasses say",
}


def modules() -> Iterator[ModuleType]:
    yield jax
    for found in pkgutil.walk_packages(jax.__path__, "tetrad."):
        if "._" not in found.name:
            try:
                yield importlib.import_module(found.name)
            except ImportError:  # needs a package that is not installed
                continue


def functions() -> Iterator[tuple[str, FunctionType]]:
    seen: set[int] = set()
    things = {"At": At, "AtIndex": AtIndex}
    pairs = [*things.items()]
    for module in modules():
        pairs += [(n, x) for n, x in vars(module).items() if not n.startswith("_")]
    for name, thing in pairs:
        for full, function in _of(name, thing):
            plain = inspect.unwrap(function)
            plain = getattr(plain, "__func__", plain)
            if not isinstance(plain, FunctionType) or id(plain) in seen:
                continue
            seen.add(id(plain))
            if "tetrad" in plain.__code__.co_filename:
                yield full, plain


def _of(name: str, thing: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    if not isinstance(thing, type):
        if callable(thing) and not isinstance(thing, ModuleType):
            yield name, thing
        return
    if issubclass(thing, Op) or not (thing.__module__ or "").startswith("tetrad"):
        return  # rules of operations have fixed parameters
    for key, member in vars(thing).items():
        if inspect.isfunction(member) and (
            key == "__call__" or not key.startswith("_")
        ):
            yield f"{name}.{key}", member


def unread(function: FunctionType) -> list[str]:
    """The parameters of a function that its source does not read."""
    try:
        parsed = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, SyntaxError):
        return []
    node = parsed.body[0]
    if not isinstance(node, ast.FunctionDef):
        return []
    body = node.body[1:] if ast.get_docstring(node) else node.body
    if len(body) == 1 and isinstance(body[0], ast.Raise):
        return []
    a = node.args
    named = [*a.posonlyargs, *a.args, *a.kwonlyargs]
    named += [x for x in (a.vararg, a.kwarg) if x is not None]
    read = {
        n.id
        for n in ast.walk(node)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)
    }
    return [x.arg for x in named if x.arg not in read | {"self", "cls"}]


def excused(name: str, parameter: str) -> bool:
    if parameter.startswith("_") or parameter in PERMISSIONS:
        return True
    return (name, parameter) in REASONS or (name, "*") in REASONS


def test_every_parameter_is_read_or_excused():
    found = [
        f"{name}({parameter}=)"
        for name, function in functions()
        for parameter in unread(function)
        if not excused(name, parameter)
    ]
    assert not found, "accepted and ignored: " + ", ".join(found)


def test_no_excuse_is_out_of_date():
    used = {
        (name, parameter)
        for name, function in functions()
        for parameter in unread(function)
    }
    names = {name for name, _ in used}
    parameters = {parameter for _, parameter in used}
    old = [key for key in REASONS if key not in used and key[1] != "*"]
    old += [key for key in REASONS if key[1] == "*" and key[0] not in names]
    old += [key for key in PERMISSIONS if key not in parameters]
    assert not old, old


def test_the_finder_finds():
    def ignores(x: Any, out: Any = None) -> Any:
        """Ignores `out`."""
        return x

    assert unread(ignores) == ["out"]  # type: ignore[arg-type]


X = np.ones((2, 2), np.float32)

REFUSED = {
    "outer out": lambda x: jnp.outer(x, x, out=x),
    "stack out": lambda x: jnp.stack([x], out=x),
    "reduce out": lambda x: jnp.add.reduce(x, out=x),
    "accumulate out": lambda x: jnp.add.accumulate(x, out=x),
    "view type": lambda x: x.view("int32", type=np.ndarray),
    "dot out_sharding": lambda x: jnp.dot(x, x, out_sharding="rows"),
    "matmul out_sharding": lambda x: jnp.matmul(x, x, out_sharding="rows"),
    "tensordot out_sharding": lambda x: jnp.tensordot(x, x, out_sharding="rows"),
    "einsum out_sharding": lambda x: jnp.einsum("ij->i", x, out_sharding="rows"),
    "get out_sharding": lambda x: x.at[0].get(out_sharding="rows"),
    "set out_sharding": lambda x: x.at[0].set(1.0, out_sharding="rows"),
    "reshape out_sharding": lambda x: x.reshape(4, out_sharding="rows"),
    "ravel out_sharding": lambda x: x.ravel(out_sharding="rows"),
    "repeat out_sharding": lambda x: jnp.repeat(x, 2, out_sharding="rows"),
    "polar eps": lambda x: jax.scipy.linalg.polar(x, eps=1e-3),
    "eigh implementation": lambda x: jax.lax.linalg.eigh(x, implementation="qdwh"),
    "svd algorithm": lambda x: jax.lax.linalg.svd(x, algorithm="jacobi"),
    "eig use_magma": lambda x: jax.lax.linalg.eig(x, use_magma=True),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_not_available_says_so(name):
    for _ in range(3):  # by plan, too
        with pytest.raises(NotImplementedError) as told:
            REFUSED[name](jnp.asarray(X))
        call, _, rest = str(told.value).partition(": ")
        assert re.search(rf"\b{name.split()[-1]}\b", rest), (call, rest)


WRONG = {
    "median overwrite_input": lambda x: jnp.median(x, overwrite_input=True),
    "quantile overwrite_input": lambda x: jnp.quantile(x, 0.5, overwrite_input=True),
    "meshgrid copy": lambda x: jnp.meshgrid(x[0], copy=False),
    "from_dlpack copy": lambda x: jnp.from_dlpack(np.ones(2, np.float32), copy=False),
    "polar method": lambda x: jax.scipy.linalg.polar(x, method="newton"),
    "expm_frechet method": lambda x: jax.scipy.linalg.expm_frechet(
        x, x, method="newton"
    ),
    "solve_sylvester method": lambda x: jax.scipy.linalg.solve_sylvester(
        x, x, x, method="qr"
    ),
    "svd lapack_driver": lambda x: jax.scipy.linalg.svd(x, lapack_driver="jacobi"),
    "digitize method": lambda x: jnp.digitize(x, x[0], method="guess"),
    "convolve precision": lambda x: jnp.convolve(x[0], x[0], precision="some"),
}


@pytest.mark.parametrize("name", WRONG)
def test_values_that_an_argument_cannot_have(name):
    argument = name.split()[-1]
    with pytest.raises(ValueError, match=rf"(^|: .*){argument}\b"):
        WRONG[name](jnp.asarray(X))


def test_arguments_act():
    x = jnp.array([1.0, 2.0, 3.0])
    half = jnp.correlate(x, x, preferred_element_type=jnp.bfloat16)
    assert half.dtype == jnp.bfloat16
    assert jnp.convolve(x, x, preferred_element_type=jnp.bfloat16).dtype == jnp.bfloat16
    device = jax.devices()[0]
    placed = x.astype("int32", device=device)
    assert placed.committed
    assert placed.dtype == jnp.int32
    assert jnp.from_dlpack(x) is x
    assert jnp.from_dlpack(x, copy=True) is not x
    for method in ("scan", "sort", "compare_all"):
        assert jnp.digitize(x, x, method=method).tolist() == [1, 2, 3]


def test_roots_of_traced_coefficients():
    p = np.array([2.0, -6.0, 4.0], np.float32)
    np.testing.assert_allclose(
        jax.jit(lambda p: jnp.roots(p, strip_zeros=False))(p), [2, 1], rtol=1e-6
    )
    with pytest.raises((NotImplementedError, TypeError), match="strip_zeros=False"):
        jax.jit(jnp.roots)(p)
    below = jnp.roots(jnp.array([0.0, 1.0, 2.0]), strip_zeros=False)
    np.testing.assert_array_equal(below, [-2, np.nan])
    assert jnp.roots(jnp.array([0.0, 1.0, 2.0])).tolist() == [-2]
    assert jnp.roots(jnp.array([3.0]), strip_zeros=False).shape == (0,)
