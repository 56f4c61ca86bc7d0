"""Ordinary differential equations by the method of Dormand and Prince.

Steps of order 5 with an estimate of their error choose their own length; values between
are those of a polynomial of degree 4 through both ends and the middle of a step. The
gradient solves the adjoint equation backwards, from one requested time to the one before,
so that memory does not grow with the steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from tetrad import lax, numpy
from tetrad._src.api.transforms import closure_convert, custom_vjp, vjp
from tetrad.flatten_util import ravel_pytree
from tetrad.tree_util import tree_leaves, tree_map

jnp: Any = numpy  # arrays have methods that their type does not state

# Dormand and Prince, 1980: the stages, the step of order 5, and its estimated error.
_TIMES = (0.2, 0.3, 0.8, 8 / 9, 1.0, 1.0)
_STAGES = (
    (1 / 5,),
    (3 / 40, 9 / 40),
    (44 / 45, -56 / 15, 32 / 9),
    (19372 / 6561, -25360 / 2187, 64448 / 6561, -212 / 729),
    (9017 / 3168, -355 / 33, 46732 / 5247, 49 / 176, -5103 / 18656),
    (35 / 384, 0.0, 500 / 1113, 125 / 192, -2187 / 6784, 11 / 84),
)
_ERROR = (
    35 / 384 - 5179 / 57600,
    0.0,
    500 / 1113 - 7571 / 16695,
    125 / 192 - 393 / 640,
    -2187 / 6784 + 92097 / 339200,
    11 / 84 - 187 / 2100,
    -1 / 40,
)
# The value in the middle of a step, of order 4 (Shampine, 1986).
_MIDDLE = (
    6025192743 / 30085553152 / 2,
    0.0,
    51252292925 / 65400821598 / 2,
    -2691868925 / 45128329728 / 2,
    187940372067 / 1594534317056 / 2,
    -1776094331 / 19743644256 / 2,
    11237099 / 235043384 / 2,
)


def odeint(
    func: Callable[..., Any],
    y0: Any,
    t: Any,
    *args: Any,
    rtol: float = 1.4e-8,
    atol: float = 1.4e-8,
    mxstep: float = np.inf,
    hmax: float = np.inf,
) -> Any:
    """The solution of dy/dt = func(y, t, *args), y(t[0]) = y0, at times t.

    Args:
      func: a function of a pytree y, a time and `args` that gives the derivative of y.
      y0: the value at t[0].
      t: a vector of increasing times.
      *args: further arguments, pytrees of arrays, by which there are gradients.
      rtol, atol: a step is accepted where its error is below atol + rtol·|y|.
      mxstep: the greatest number of steps between two times.
      hmax: the greatest length of a step.

    The result is y with a leading axis for times. Reverse mode differentiates by y0, t
    and `args`, and by what func closes over.

    >>> from tetrad.experimental.ode import odeint
    >>> odeint(lambda y, t: -y, jnp.array(1.), jnp.array([0., 1.])).round(4)
    Array([1.    , 0.3679], dtype=float32)
    """
    t = jnp.asarray(t)
    if t.ndim != 1:
        raise TypeError(f"odeint: t must be a vector of times, got shape {t.shape}")
    for leaf in (*tree_leaves((y0, t)), *tree_leaves(args)):
        if not jnp.issubdtype(jnp.asarray(leaf).dtype, jnp.floating):
            raise TypeError(
                "odeint: y0, t and args must be arrays of real floating-point numbers,"
                f" got dtype {jnp.asarray(leaf).dtype}"
            )
    y0, args = tree_map(jnp.asarray, (y0, args))
    converted, closed = closure_convert(func, y0, t[0], *args)
    start, unravel = ravel_pytree(y0)

    def flat(y: Any, time: Any, values: Any) -> Any:
        slope = converted(unravel(y), time, *values)
        return ravel_pytree(slope)[0].astype(y.dtype)

    solve = _with_adjoint(flat, (rtol, atol, mxstep, hmax))
    solution = solve(start, t.astype(start.dtype), (*args, *closed))
    return tree_map(lambda *ys: jnp.stack(ys), *[unravel(y) for y in solution])


def _with_adjoint(f: Callable[..., Any], settings: tuple[float, ...]) -> Any:
    """solve(y0, t, values) with the gradient of the adjoint equation."""

    @custom_vjp
    def solve(y0: Any, t: Any, values: Any) -> Any:
        return _solve(lambda y, time: f(y, time, values), y0, t, settings)

    def forward(y0: Any, t: Any, values: Any) -> Any:
        ys = solve(y0, t, values)
        return ys, (ys, t, values)

    def backward(kept: Any, g: Any) -> Any:
        ys, t, values = kept
        flat_values, unravel_values = ravel_pytree(values)
        n = ys.shape[1]

        # Time runs backwards: s = −t. The state is y, its cotangent, that of values.
        def adjoint(state: Any, s: Any, flat_values: Any) -> Any:
            y, y_bar = state[:n], state[n : 2 * n]
            slope, pull = vjp(lambda y, v: f(y, -s, unravel_values(v)), y, flat_values)
            y_slope, v_slope = pull(y_bar)
            return jnp.concatenate([-slope, y_slope, v_slope.astype(state.dtype)])

        # It has an adjoint itself, for gradients of gradients.
        solve_adjoint = _with_adjoint(adjoint, settings)

        def interval(carry: Any, at: Any) -> Any:
            y_bar, v_bar = carry
            y, now, before, cotangent, earlier = at
            t_bar = f(y, now, values) @ cotangent
            state = jnp.concatenate([y, y_bar, v_bar])
            times = jnp.stack([-now, -before])
            end = solve_adjoint(state, times, flat_values)[1]
            return (end[n : 2 * n] + earlier, end[2 * n :]), t_bar

        v_bar = jnp.zeros(flat_values.shape, ys.dtype)
        rows = (ys[1:], t[1:], t[:-1], g[1:], g[:-1])
        carry, t_bars = lax.scan(interval, (g[-1], v_bar), rows, reverse=True)
        y_bar, v_bar = carry
        # To begin later is to leave y where it is for as long.
        t0_bar = -f(ys[0], t[0], values) @ (y_bar - g[0])
        t_bar = jnp.concatenate([t0_bar[None], t_bars])
        return y_bar, t_bar, unravel_values(v_bar.astype(flat_values.dtype))

    solve.defvjp(forward, backward)
    return solve


# ------------------------------------------------------------------------------ steps


def _solve(
    f: Callable[[Any, Any], Any], y0: Any, t: Any, settings: tuple[float, ...]
) -> Any:
    """The rows y(t[i])."""
    rtol, atol, mxstep, hmax = settings

    def to_next(carry: Any, target: Any) -> Any:
        def unfinished(state: Any) -> Any:
            _, _, time, h, _, _, steps = state
            return (time < target) & (steps < mxstep) & (h > 0)

        def step(state: Any) -> Any:
            y, slope, time, h, old_time, fit, steps = state
            new, new_slope, error, middle = _step(f, y, slope, time, h)
            size = atol + rtol * jnp.maximum(jnp.abs(y), jnp.abs(new))
            ratio = jnp.sqrt(jnp.mean(jnp.square(error / size)))
            ok = ratio <= 1
            new_fit = _fit(y, new, middle, slope, new_slope, h)
            following = jnp.clip(h * _factor(ratio), 0, hmax)
            return (
                jnp.where(ok, new, y),
                jnp.where(ok, new_slope, slope),
                jnp.where(ok, time + h, time),
                following,
                jnp.where(ok, time, old_time),
                jnp.where(ok, new_fit, fit),
                steps + 1,
            )

        y, slope, time, h, old_time, fit, _ = lax.while_loop(
            unfinished, step, (*carry, 0)
        )
        span = time - old_time
        place = jnp.where(
            span == 0, 0, (target - old_time) / jnp.where(span == 0, 1, span)
        )
        value = jnp.polyval(fit, place)
        return (y, slope, time, h, old_time, fit), value

    slope = f(y0, t[0])
    h = jnp.clip(_first_step(f, y0, slope, t[0], rtol, atol), 0, hmax)
    fit = jnp.zeros((5, y0.size), y0.dtype).at[4].set(y0)
    carry = (y0, slope, t[0], h, t[0], fit)
    _, ys = lax.scan(to_next, carry, t[1:])
    return jnp.concatenate([y0[None], ys])


def _step(f: Callable[[Any, Any], Any], y: Any, slope: Any, t: Any, h: Any) -> Any:
    """(value, slope, error, value in the middle) after a step of length h."""
    slopes, new = [slope], y
    for time, weights in zip(_TIMES, _STAGES, strict=True):
        new = y + h * _sum(weights, slopes)
        slopes.append(f(new, t + time * h))
    return new, slopes[-1], h * _sum(_ERROR, slopes), y + h * _sum(_MIDDLE, slopes)


def _sum(weights: tuple[float, ...], slopes: list[Any]) -> Any:
    pairs = zip(weights, slopes, strict=True)
    return sum(w * k for w, k in pairs if w != 0)


def _factor(ratio: Any) -> Any:
    """By what a step changes whose error was `ratio` times what is allowed."""
    ideal = 0.9 * jnp.where(ratio == 0, 1, ratio) ** -0.2
    ideal = jnp.clip(ideal, jnp.where(ratio < 1, 1.0, 0.2), 10)
    # A step whose error is no number is tried again, shorter.
    return jnp.where(ratio == 0, 10, jnp.where(jnp.isfinite(ratio), ideal, 0.2))


def _fit(y0: Any, y1: Any, middle: Any, slope0: Any, slope1: Any, h: Any) -> Any:
    """The coefficients, highest first, of the polynomial on [0, 1] of degree 4."""
    d0, d1 = h * slope0, h * slope1
    a = 2 * (d1 - d0) - 8 * (y0 + y1) + 16 * middle
    b = 5 * d0 - 3 * d1 + 18 * y0 + 14 * y1 - 32 * middle
    c = d1 - 4 * d0 - 11 * y0 - 5 * y1 + 16 * middle
    return jnp.stack([a, b, c, d0, y0])


def _first_step(
    f: Callable[[Any, Any], Any], y: Any, slope: Any, t: Any, rtol: Any, atol: Any
) -> Any:
    """A length to begin with (Hairer, Nørsett and Wanner, 1993, II.4)."""
    size = atol + rtol * jnp.abs(y)
    d0, d1 = _norm(y / size), _norm(slope / size)
    small = (d0 < 1e-5) | (d1 < 1e-5)
    h0 = jnp.where(small, 1e-6, 0.01 * d0 / jnp.where(small, 1, d1))
    ahead = f(y + h0 * slope, t + h0)
    d2 = _norm((ahead - slope) / size) / h0
    most = jnp.maximum(d1, d2)
    flat = most <= 1e-15
    h1 = jnp.where(
        flat, jnp.maximum(1e-6, h0 * 1e-3), (0.01 / jnp.where(flat, 1, most)) ** 0.2
    )
    return jnp.minimum(100 * h0, h1)


def _norm(x: Any) -> Any:
    return jnp.sqrt(jnp.sum(jnp.square(x)))
