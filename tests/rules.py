"""Checks of an operation's rules against their meaning, on any machine.

`check(fun, *args)` says: the forward derivative is the slope, reverse is the transpose
of forward, the same one order higher, and vmap is a loop, for every choice of mapped
axes. Run it with 64-bit types on, inside `machine(name)`.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy_machine_full import array_of, known

from tetrad._src.core.op import Axis
from tetrad._src.transforms.jvp import jvp_flat
from tetrad._src.transforms.linearize import linearize_flat
from tetrad._src.transforms.transpose import transpose_tape
from tetrad._src.transforms.vmap import move_mapped, vmap_flat

Array = np.ndarray[Any, Any]


def outputs(fun: Any, args: Any) -> list[Array]:
    outs = fun(*args)
    return [array_of(o) for o in (outs if isinstance(outs, (list, tuple)) else [outs])]


def flat(fun: Any) -> Any:
    def run(*args: Any) -> list[Any]:
        outs = fun(*args)
        return list(outs) if isinstance(outs, (list, tuple)) else [outs]

    return run


def inexact(x: Array) -> bool:
    return x.dtype.kind in "fc"


def direction(x: Array, seed: int) -> Array:
    rng = np.random.default_rng(seed)
    t = rng.standard_normal(x.shape)
    if x.dtype.kind == "c":
        t = t + 1j * rng.standard_normal(x.shape)
    return np.asarray(t, x.dtype)


def slopes(fun: Any, args: list[Array], tangents: list[Any]) -> list[Array]:
    """Central differences with one step of extrapolation."""

    def moved(h: float) -> list[Array]:
        at = [a if t is None else a + h * t for a, t in zip(args, tangents)]
        return outputs(fun, [known(a) for a in at])

    def central(h: float) -> list[Array]:
        return [(p - m) / (2 * h) for p, m in zip(moved(h), moved(-h))]

    h = 1e-4
    return [(4 * a - b) / 3 for a, b in zip(central(h / 2), central(h))]


def check_derivatives(fun: Any, args: list[Array], order: int = 2) -> None:
    tangents = [direction(a, i) if inexact(a) else None for i, a in enumerate(args)]
    run = flat(fun)
    outs, found = jvp_flat(
        run, [known(a) for a in args], [t if t is None else known(t) for t in tangents]
    )
    want = slopes(fun, args, tangents)
    for out, got, slope in zip(outs, found, want):
        if not inexact(array_of(out)):
            assert got is None
            continue
        got = np.zeros(slope.shape) if got is None else array_of(got)
        np.testing.assert_allclose(got, slope, rtol=1e-6, atol=1e-7)
    check_reverse(fun, args, tangents, found)
    if order > 1:
        live = [i for i, t in enumerate(tangents) if t is not None]

        def forward(*primals: Any) -> list[Any]:
            ts = [None if t is None else known(t) for t in tangents]
            _, derived = jvp_flat(run, list(primals), ts)
            return [d for d in derived if d is not None]

        if live and forward(*[known(a) for a in args]):
            check_derivatives(forward, args, order - 1)


def check_reverse(
    fun: Any, args: list[Array], tangents: list[Any], forward: list[Any]
) -> None:
    """⟨ct, J t⟩ = ⟨Jᵀ ct, t⟩, all inputs at once and each alone."""
    live = [t is not None for t in tangents]
    primals = [known(a) for a in args]
    outs, tape = linearize_flat(flat(fun), primals, live)
    cts = [
        known(direction(array_of(o), 7 + i)) if inexact(array_of(o)) else None
        for i, o in enumerate(outs)
    ]
    back = transpose_tape(tape, cts)
    left = sum(
        np.sum(array_of(c) * array_of(t))
        for c, t in zip(cts, forward)
        if c is not None and t is not None
    )
    right = 0.0
    for ct, t in zip(back, [t for t in tangents if t is not None]):
        if ct is not None:
            assert array_of(ct).shape == t.shape and array_of(ct).dtype == t.dtype
            right = right + np.sum(array_of(ct) * t)
    np.testing.assert_allclose(left, right, rtol=1e-9, atol=1e-9)
    for i, on in enumerate(live):
        if on and sum(live) > 1:
            alone = [k == i for k in range(len(live))]
            _, tape = linearize_flat(flat(fun), primals, alone)
            (ct,) = transpose_tape(tape, cts)
            both = back[live[:i].count(True)]
            if ct is None or both is None:
                assert ct is both
            else:
                np.testing.assert_allclose(array_of(ct), array_of(both), rtol=1e-9)


def lanes_of(x: Array, size: int, seed: int) -> list[Array]:
    """`size` variations of an argument, all different."""
    rng = np.random.default_rng(seed)
    made = [x]
    for _ in range(size - 1):
        if inexact(x):
            made.append(np.asarray(x + rng.standard_normal(x.shape), x.dtype))
        elif x.dtype.kind == "b":
            made.append(rng.random(x.shape) < 0.5)
        else:
            made.append(np.asarray(x + rng.integers(-2, 3, x.shape), x.dtype))
    return made


def check_vmap(fun: Any, args: list[Array], size: int = 3) -> None:
    choices = [(None, 0, -1) if a.ndim else (None, 0) for a in args]
    for axes in itertools.product(*choices):
        if all(axis is None for axis in axes):
            continue
        lanes = [
            [a] * size if axis is None else lanes_of(a, size, i)
            for i, (a, axis) in enumerate(zip(args, axes))
        ]
        stacked = [
            a if axis is None else np.stack(v, axis=axis)
            for a, v, axis in zip(args, lanes, axes)
        ]
        at = [
            None if axis is None else axis % stacked[i].ndim
            for i, axis in enumerate(axes)
        ]
        outs, mapped = vmap_flat(flat(fun), Axis(size), [known(a) for a in stacked], at)
        whole = [
            array_of(move_mapped(Axis(size), o, m, 0)) for o, m in zip(outs, mapped)
        ]
        for lane in range(size):
            want = outputs(fun, [known(v[lane]) for v in lanes])
            for got, expected in zip(whole, want):
                np.testing.assert_allclose(
                    got[lane], expected, rtol=1e-12, err_msg=f"in_axes={axes}"
                )


def check(fun: Any, *args: Any, order: int = 2) -> None:
    arrays = [np.asarray(a) for a in args]
    if any(inexact(a) for a in arrays):
        check_derivatives(fun, arrays, order)
    check_vmap(fun, arrays)


__all__ = ["check", "check_derivatives", "check_vmap"]
