"""Every operation of the catalogue mapped over each choice of axes, against a loop."""

import itertools

import numpy as np
import pytest
from catalogue.row import is_inexact
from support import assert_bits, assert_close
from test_catalogue import cases, leaves

import tetrad as jax
import tetrad.numpy as jnp


def lanes_of(row, dtype, size):
    """`size` sets of operands; what is not mapped is the same in all."""
    rng = row.rng(dtype + "/lanes")
    first = row.sample(dtype)
    lanes = [first]
    for _ in range(size - 1):
        lanes.append(
            [arg.sample(dtype, rng, arg.shape) if arg.mapped else x
             for arg, x in zip(row.args, first)]
        )  # fmt: skip
    return lanes


class Loop:
    """The operation lane by lane: what vmap must give."""

    def __init__(self, row, lanes):
        self.row = row
        self.lanes = lanes
        self.known = {}

    def outputs(self, which):
        """The outputs when operand i comes from lane `which[i]`."""
        if which not in self.known:
            args = [self.lanes[lane][i] for i, lane in enumerate(which)]
            outs = leaves(self.row.run(jax, *[jnp.asarray(a) for a in args]))
            self.known[which] = [np.asarray(o) for o in outs]
        return self.known[which]

    def stacked(self, axes):
        """The outputs of all lanes, mapped operands being those with an axis."""
        lanes = [
            self.outputs(tuple(0 if axis is None else lane for axis in axes))
            for lane in range(len(self.lanes))
        ]
        return [np.stack(outs) for outs in zip(*lanes)]

    def operands(self, axes):
        """The operands with the lanes along `axes`."""
        return [
            jnp.asarray(
                self.lanes[0][i]
                if axis is None
                else np.stack([lane[i] for lane in self.lanes], axis)
            )
            for i, axis in enumerate(axes)
        ]


def axes_of(row, last=True):
    """Every choice of mapped axes but the one without any; -1 only if `last`."""
    choices = [
        [0, None, *([-1] if arg.shape and last else [])] if arg.mapped else [None]
        for arg in row.args
    ]
    return [c for c in itertools.product(*choices) if any(a is not None for a in c)]


def compare(row, dtype, got, want, note):
    if row.bits or not is_inexact(want.dtype):
        assert_bits(got, want, note)
    else:
        assert_close(got, want, row.limit(dtype), row.margin(dtype))


@pytest.mark.parametrize("row, dtype", cases("vmap", lambda row: row.light_dtypes()))
def test_vmap_is_a_loop(row, dtype):
    fun = row.function(jax)
    loop = Loop(row, lanes_of(row, dtype, 3))
    first = dtype == row.light_dtypes()[0]
    for axes in axes_of(row, last=first):
        outs = leaves(jax.vmap(fun, in_axes=axes)(*loop.operands(axes)))
        for out, want in zip(outs, loop.stacked(axes), strict=True):
            compare(row, dtype, out, want, f"in_axes={axes}")


@pytest.mark.parametrize("row, dtype", cases("vmap", lambda r: r.light_dtypes()[:1]))
def test_vmap_of_vmap_is_a_loop_over_vmap(row, dtype):
    fun = row.function(jax)
    outer, within = axes_of(row)[0], axes_of(row)[-1]
    lanes = lanes_of(row, dtype, 6)
    groups = [Loop(row, lanes[i : i + 2]).operands(within) for i in (0, 2, 4)]
    columns = list(zip(*groups))
    stacked = [
        x[0] if axis is None else jnp.asarray(np.stack(x, axis))
        for x, axis in zip(columns, outer)
    ]
    mapped = jax.vmap(fun, in_axes=within)
    outs = leaves(jax.vmap(mapped, in_axes=outer)(*stacked))
    wants = [
        leaves(mapped(*[x[0 if a is None else g] for x, a in zip(columns, outer)]))
        for g in range(3)
    ]
    for out, *want in zip(outs, *wants, strict=True):
        compare(row, dtype, out, np.stack([np.asarray(w) for w in want]), "nested")


@pytest.mark.parametrize("row, dtype", cases("vmap", lambda r: r.light_dtypes()[:1]))
def test_vmap_over_one_lane_and_over_none(row, dtype):
    axes = axes_of(row)[0]
    one = Loop(row, lanes_of(row, dtype, 1))
    mapped = jax.vmap(row.function(jax), in_axes=axes)
    operands = one.operands(axes)
    for out, want in zip(leaves(mapped(*operands)), one.stacked(axes), strict=True):
        compare(row, dtype, out, want, "one lane")
    nothing = [x if axis is None else x[:0] for x, axis in zip(operands, axes)]
    for out, want in zip(leaves(mapped(*nothing)), one.stacked(axes), strict=True):
        assert out.shape == (0, *want.shape[1:])
        assert out.dtype == want.dtype
