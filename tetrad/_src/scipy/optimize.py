"""Least values of smooth functions by BFGS.

The inverse of the Hessian is estimated from the changes of gradients. A step goes along
its product with the gradient, so far that the function falls enough and the slope
flattens enough (Wolfe's conditions); a bisection finds how far (Lewis and Overton, 2013).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from tetrad import lax, numpy
from tetrad._src.api.transforms import value_and_grad

jnp: Any = numpy  # arrays have methods that their type does not state

_FALL, _FLATTEN = 1e-4, 0.9


class OptimizeResults(NamedTuple):
    """What `minimize` returns.

    x: the place; success: whether the gradient is small there; status: 0, or 1 if there
    were too many steps, or 3 if no step that falls was found; fun, jac, hess_inv: value,
    gradient, estimate of the inverse Hessian; nfev, njev, nit: numbers of values,
    gradients and steps.
    """

    x: Any
    success: Any
    status: Any
    fun: Any
    jac: Any
    hess_inv: Any
    nfev: Any
    njev: Any
    nit: Any


class _State(NamedTuple):
    x: Any
    f: Any
    g: Any
    H: Any
    failed: Any
    evaluations: Any
    step: Any


def minimize(
    fun: Callable[..., Any],
    x0: Any,
    args: tuple[Any, ...] = (),
    *,
    method: str,
    tol: float | None = None,
    options: Mapping[str, Any] | None = None,
) -> OptimizeResults:
    """A local minimum of `fun(x, *args)` from a vector x0, under `jit` and `vmap` as well.

    Args:
      fun: a differentiable function of a vector and `args`, with a scalar value.
      x0: where to start.
      args: further arguments.
      method: 'BFGS'.
      tol: the default of the option `gtol`.
      options: `gtol`, the norm of the gradient at which to stop (1e-5); `norm`, the order
        of that norm (infinity); `maxiter`, the greatest number of steps (200·n);
        `line_search_maxiter`, that of evaluations within a step (30).

    Source: Nocedal and Wright, "Numerical Optimization", 2006, chapter 6.

    >>> from tetrad.scipy.optimize import minimize
    >>> result = minimize(lambda x: ((x - 2)**2).sum(), jnp.zeros(2), method="BFGS")
    >>> result.x.round(3), bool(result.success)
    (Array([2., 2.], dtype=float32), True)
    """
    if method.lower() != "bfgs":
        raise NotImplementedError(
            f"minimize: method must be 'BFGS', got {method!r}; others are not supported"
        )
    if not isinstance(args, tuple):
        raise TypeError(
            f"minimize: args of type {type(args).__name__} must be a tuple, as in (a,)"
        )
    known = {"gtol": 1e-5 if tol is None else tol, "norm": jnp.inf, "maxiter": None,
             "line_search_maxiter": 30}  # fmt: skip
    for name in options or {}:
        if name not in known:
            raise TypeError(
                f"minimize: unknown option {name!r}; there are {', '.join(known)}"
            )
    settings = known | dict(options or {})
    x0 = jnp.asarray(x0)
    if x0.ndim != 1:
        raise ValueError(f"minimize: x0 must be a vector, got shape {x0.shape}")
    if not jnp.issubdtype(x0.dtype, jnp.inexact):
        x0 = x0.astype(jnp.result_type(float))
    if settings["maxiter"] is None:
        settings["maxiter"] = 200 * x0.size
    return _bfgs(value_and_grad(lambda x: fun(x, *args)), x0, settings)


def _bfgs(
    evaluate: Callable[[Any], Any], x: Any, settings: Mapping[str, Any]
) -> OptimizeResults:
    def small(g: Any) -> Any:
        return jnp.linalg.norm(g, settings["norm"]) < settings["gtol"]

    def unfinished(state: _State) -> Any:
        more = state.step < settings["maxiter"]
        return ~small(state.g) & ~state.failed & more

    def step(state: _State) -> _State:
        p = -state.H @ state.g
        # An estimate that points upwards is given up for the gradient.
        upwards = p @ state.g >= 0
        p = jnp.where(upwards, -state.g, p)
        H = jnp.where(upwards, jnp.eye(x.size, dtype=x.dtype), state.H)
        limit = settings["line_search_maxiter"]
        a, f, g, count, found = _line_search(evaluate, state, p, limit)
        new = state.x + a * p
        return _State(
            jnp.where(found, new, state.x),
            jnp.where(found, f, state.f),
            jnp.where(found, g, state.g),
            jnp.where(found, _updated(H, new - state.x, g - state.g), H),
            ~found,
            state.evaluations + count,
            state.step + 1,
        )

    f, g = evaluate(x)
    eye = jnp.eye(x.size, dtype=x.dtype)
    zero = jnp.zeros((), jnp.int32)
    start = _State(x, f, g, eye, jnp.array(False), zero + 1, zero)
    end = lax.while_loop(unfinished, step, start)
    success = small(end.g)
    status = jnp.where(success, 0, jnp.where(end.failed, 3, 1))
    return OptimizeResults(
        end.x, success, status, end.f, end.g, end.H, end.evaluations, end.evaluations,
        end.step,
    )  # fmt: skip


def _line_search(
    evaluate: Callable[[Any], Any], state: _State, p: Any, limit: Any
) -> Any:
    """(a, f, g, evaluations, found): a length a along p with Wolfe's conditions.

    Also found is a length that falls enough, if only the slope is still too steep when
    the evaluations are used up.
    """
    slope = p @ state.g

    def unfinished(search: Any) -> Any:
        *_, count, done = search
        return ~done & (count < limit)

    def probe(search: Any) -> Any:
        low, high, a, best, f_best, g_best, count, _ = search
        f, g = evaluate(state.x + a * p)
        falls = f <= state.f + _FALL * a * slope
        flat = g @ p >= _FLATTEN * slope
        low, high = jnp.where(falls, a, low), jnp.where(falls, high, a)
        best = jnp.where(falls, a, best)
        f_best, g_best = jnp.where(falls, f, f_best), jnp.where(falls, g, g_best)
        following = jnp.where(jnp.isinf(high), 2 * low, (low + high) / 2)
        return low, high, following, best, f_best, g_best, count + 1, falls & flat

    zero = jnp.zeros_like(state.f)
    start = (
        zero, zero + jnp.inf, zero + 1, zero, state.f, state.g,
        jnp.zeros((), jnp.int32), jnp.array(False),
    )  # fmt: skip
    _, _, _, best, f, g, count, _ = lax.while_loop(unfinished, probe, start)
    return best, f, g, count, best > 0


def _updated(H: Any, s: Any, y: Any) -> Any:
    """The estimate that takes y, the change of the gradient, to s, the step."""
    curvature = s @ y
    good = curvature > 0
    rho = 1 / jnp.where(good, curvature, 1)
    left = jnp.eye(s.size, dtype=s.dtype) - rho * jnp.outer(s, y)
    return jnp.where(good, left @ H @ left.T + rho * jnp.outer(s, s), H)
