"""Derivatives held against finite differences: `jax.test_util`.

In: a function, arguments, and how derivatives are taken. Out: nothing, or an
AssertionError. A derivative is compared in one random direction: forward mode with the
central difference along it, reverse mode with the product of a random cotangent and that
difference. Higher orders check the derivative itself in the same way.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from tetrad._src.api.derivatives import jvp, vjp
from tetrad._src.core.bind import aval_of
from tetrad._src.util import dtypes, tree

Fun = Callable[..., Any]
Tolerance = float | dict[Any, float] | None

STEP = 1e-4
TOLERANCES = {
    "float8": 1e-1,
    "bfloat16": 1e-1,
    "float16": 1e-2,
    "float32": 2e-3,
    "float64": 1e-5,
    "complex64": 1e-3,
    "complex128": 1e-5,
}


def _tolerance(given: Tolerance, *arrays: Any) -> float:
    """The tolerance for the coarsest dtype among `arrays`."""
    if given is not None and not isinstance(given, dict):
        return given
    named = {np.dtype(key).name: value for key, value in (given or {}).items()}
    names = [np.dtype(aval_of(x).dtype).name for x in arrays]
    known = [named.get(n, TOLERANCES.get(n, TOLERANCES["float8"])) for n in names]
    return max(known)


def _assert_close(
    what: str, got: Any, want: Any, like: Any, atol: Tolerance, rtol: Tolerance
) -> None:
    """Compares trees; `like` has the dtypes that say how exact they can be."""
    leaves = zip(tree.leaves(got), tree.leaves(want), tree.leaves(like), strict=True)
    for x, y, typed in leaves:
        if aval_of(x).dtype == dtypes.float0:
            continue
        wide = np.complex128 if np.iscomplexobj(x) else np.float64
        np.testing.assert_allclose(
            np.asarray(x).astype(wide),
            np.asarray(y).astype(wide),
            atol=_tolerance(atol, typed),
            rtol=_tolerance(rtol, typed),
            err_msg=what,
        )


def _random_like(random: np.random.RandomState, x: Any) -> Any:
    """A random direction in the shape and dtype of `x`."""
    aval = aval_of(x)
    if not aval.inexact:
        return np.zeros(aval.shape, dtypes.float0)
    found = random.randn(*aval.shape)
    if aval.kind == "c":
        found = found + 1j * random.randn(*aval.shape)
    return np.asarray(found, aval.dtype)[()]


def _moved(primals: Any, tangents: Any, step: float) -> Any:
    def move(x: Any, t: Any) -> Any:
        if aval_of(t).dtype == dtypes.float0:
            return x
        dtype = aval_of(x).dtype
        return np.asarray(np.asarray(x) + np.asarray(step, dtype) * t, dtype)[()]

    return tree.map(move, primals, tangents)


def _difference(fun: Fun, primals: Any, tangents: Any, step: float) -> Any:
    """The derivative of `fun` along `tangents`, by central differences."""
    above = fun(*_moved(primals, tangents, step))
    below = fun(*_moved(primals, tangents, -step))

    def slope(a: Any, b: Any) -> Any:
        if not aval_of(a).inexact:
            return np.zeros(aval_of(a).shape, dtypes.float0)
        wide = np.complex128 if np.iscomplexobj(a) else np.float64
        first, second = np.asarray(a).astype(wide), np.asarray(b).astype(wide)
        equal = first == second  # infinities, too
        with np.errstate(invalid="ignore"):
            return np.where(equal, 0, first - second) / (2 * step)

    return tree.map(slope, above, below)


def check_jvp(
    f: Fun,
    f_jvp: Fun,
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = STEP,
    err_msg: str = "",
) -> None:
    """Compares forward derivatives with finite differences, in one random direction.

    Args:
      f: a function of pytrees.
      f_jvp: `(primals, tangents) -> (value, tangent)`, as `partial(jax.jvp, f)`.
      args: where to compare.
      atol: absolute tolerance, or one by dtype.
      rtol: relative tolerance, or one by dtype.
      eps: the step of the differences.
      err_msg: what to say in front of a failure.

    Raises AssertionError if they differ.

    >>> import functools, tetrad as jax, tetrad.numpy as jnp
    >>> jax.test_util.check_jvp(jnp.sin, functools.partial(jax.jvp, jnp.sin), (1.0,))
    """
    args = tuple(args)
    random = np.random.RandomState(0)
    tangents = tree.map(functools.partial(_random_like, random), args)
    value, tangent = f_jvp(args, tangents)
    what = f"{err_msg} " if err_msg else ""
    _assert_close(f"{what}value", value, f(*args), value, atol, rtol)
    slope = _difference(f, args, tangents, eps)
    _assert_close(f"{what}forward derivative", tangent, slope, value, atol, rtol)


def check_vjp(
    f: Fun,
    f_vjp: Fun,
    args: Sequence[Any],
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float = STEP,
    err_msg: str = "",
) -> None:
    """Compares reverse derivatives with finite differences, in one random direction.

    `f_vjp` is `(*args) -> (value, pull_back)`, as `partial(jax.vjp, f)`; the other
    arguments are those of `check_jvp`.

    >>> import functools, tetrad as jax, tetrad.numpy as jnp
    >>> jax.test_util.check_vjp(jnp.sin, functools.partial(jax.vjp, jnp.sin), (1.0,))
    """
    args = tuple(args)
    random = np.random.RandomState(0)
    value, pull_back = f_vjp(*args)
    what = f"{err_msg} " if err_msg else ""
    _assert_close(f"{what}value", value, f(*args), value, atol, rtol)
    tangents = tree.map(functools.partial(_random_like, random), args)
    cotangents = tree.map(functools.partial(_random_like, random), value)
    slope = _difference(f, args, tangents, eps)
    forward = _product(slope, cotangents)
    backward = _product(tangents, pull_back(cotangents))
    arrays = [x for x in tree.leaves((args, value)) if aval_of(x).inexact]
    limits = [_tolerance(t, *arrays) if arrays else 0.0 for t in (atol, rtol)]
    np.testing.assert_allclose(
        backward,
        forward,
        atol=limits[0],
        rtol=limits[1],
        err_msg=f"{what}reverse derivative",
    )


def _product(xs: Any, ys: Any) -> float:
    """The real product of two trees, without leaves that have no derivative."""
    total = 0.0
    for x, y in zip(tree.leaves(xs), tree.leaves(ys), strict=True):
        if dtypes.float0 not in (aval_of(x).dtype, aval_of(y).dtype):
            wide = np.complex128 if np.iscomplexobj(x) else np.float64
            first, second = np.asarray(x).astype(wide), np.asarray(y).astype(wide)
            total += float(np.real(np.sum(first * second)))
    return total


def check_grads(
    f: Fun,
    args: Sequence[Any],
    order: int,
    modes: Sequence[str] = ("fwd", "rev"),
    atol: Tolerance = None,
    rtol: Tolerance = None,
    eps: float | None = None,
) -> None:
    """Compares derivatives up to an order with finite differences.

    Args:
      f: a function of pytrees.
      args: where to compare.
      order: the highest order of derivatives.
      modes: "fwd", "rev" or both; mixed derivatives are compared, too.
      atol: absolute tolerance, or one by dtype.
      rtol: relative tolerance, or one by dtype.
      eps: the step of the differences.

    Raises AssertionError if they differ.

    >>> import tetrad as jax, tetrad.numpy as jnp
    >>> jax.test_util.check_grads(jnp.sin, (1.0,), order=2, rtol=0.05)
    """
    step = STEP if eps is None else eps

    def check(fun: Fun, args: tuple[Any, ...], left: int, what: str) -> None:
        random = np.random.RandomState(0)
        if "fwd" in modes:
            label = f"jvp of {what}" if what else "jvp"
            forward = functools.partial(jvp, fun)
            check_jvp(fun, forward, args, atol, rtol, step, label)
            if left > 1:
                tangents = tree.map(functools.partial(_random_like, random), args)
                check(lambda *xs: jvp(fun, xs, tangents), args, left - 1, label)
        if "rev" in modes:
            label = f"vjp of {what}" if what else "vjp"
            check_vjp(fun, functools.partial(vjp, fun), args, atol, rtol, step, label)
            if left > 1:
                value, _ = vjp(fun, *args)
                cts = tree.map(functools.partial(_random_like, random), value)

                def pulled(*xs: Any) -> Any:
                    found, pull_back = vjp(fun, *xs)
                    return found, pull_back(cts)

                check(pulled, args, left - 1, label)

    check(f, tuple(args), order, "")
