"""Random programs: what must hold of every program, whatever it computes.

A program (see `generated/`) runs eagerly, one statement at a time, under `jit`, under
`vmap`, and with control flow by Python. Each property draws a few programs by default,
always the same, and ten times as many in the slow run.
"""

from __future__ import annotations

import functools
import itertools
import warnings

import numpy as np
from generated import strategies
from generated.plain import plain
from generated.program import is_inexact
from generated.properties import property_of
from support import assert_bits, slopes

import tetrad as jax
import tetrad.numpy as jnp

PLAIN = plain(jax)


def values(outs):
    return [np.asarray(x) for x in outs]


def results(program, library, seed=0, wrap=None, decorate=lambda f: f):
    """What a program gives; its arguments must be as before."""
    numbers = program.numbers(seed)
    arguments = program.arguments(jax, numbers)
    outs = values(decorate(program.load(library, wrap))(*arguments))
    for number, argument in zip(numbers, arguments):
        if argument.dtype == number.dtype:
            assert_bits(argument, number, "an argument changed")
    return outs


def assert_all(got, want, note, compare=assert_bits):
    assert len(got) == len(want)
    for one, other in zip(got, want):
        compare(one, other, note)


def near(got, want, note, tolerance=None):
    got, want = np.asarray(got), np.asarray(want)
    assert got.shape == want.shape and got.dtype == want.dtype, note
    if not is_inexact(str(got.dtype)):
        return np.testing.assert_array_equal(got, want, err_msg=note)
    if tolerance is None:
        tolerance = 2e-3 if str(got.dtype) in ("float32", "complex64") else 1e-9
    np.testing.assert_allclose(got, want, tolerance, tolerance, err_msg=note)


def finish(x):
    """Forces a value, so that nothing is fused with what comes next."""
    return jax.block_until_ready(x)


# ------------------------------------------------------------------------------- values


def check_values(program):
    eager = results(program, jax)
    for got, (name, shape, dtype) in zip(eager, program.results):
        assert (got.shape, got.dtype) == (shape, dtype), f"type of {name}"
    assert_all(results(program, jax, decorate=jax.jit), eager, "jit")
    # BLAS rounds by layout, and a product reads views of its operands where they are.
    compare = assert_bits if program.exact else near
    stepwise = results(program, jax, wrap=finish)
    assert_all(stepwise, eager, "one statement at a time", compare)
    return eager


@property_of(strategies.any_programs(), 80)
def test_values(program):
    """Eager, compiled, stepwise and with Python's control flow: the same bits."""
    eager = check_values(program)
    compare = assert_bits if program.exact else near
    assert_all(results(program, PLAIN), eager, "control flow by Python", compare)


@property_of(strategies.large_programs(), 10)
def test_values_of_large_arrays(program):
    check_values(program)


@property_of(strategies.large_loops(), 6)
def test_values_of_large_loops(program):
    assert_all(results(program, PLAIN), check_values(program), "by Python")


@property_of(strategies.long_programs(), 8)
def test_values_of_long_programs(program):
    """Wherever a value is asked for, the program around it is cut: the same bits."""
    eager = check_values(program)
    compare = assert_bits if program.exact else near
    for stride in (2, 5):
        turn = itertools.count()

        def ask(x):
            return finish(x) if next(turn) % stride == 0 else x

        asked = results(program, jax, wrap=ask)
        assert_all(asked, eager, f"every value number {stride} is asked for", compare)


@property_of(strategies.narrow_programs(), 15)
def test_values_of_narrow_types(program):
    """What is computed in wider registers is rounded after every step."""
    assert_all(results(program, PLAIN), check_values(program), "by Python")


@property_of(strategies.any_programs(), 25)
def test_vmap(program):
    """vmap gives what a loop gives: the same bits where no product is involved."""
    f = program.load(jax)
    numbers = program.numbers(1, lanes=2)
    stacked = program.arguments(jax, numbers)
    lanes = [
        f(*program.arguments(jax, [n[lane] for n in numbers])) for lane in range(2)
    ]
    for note, mapped in (("vmap", jax.vmap(f)), ("jit(vmap)", jax.jit(jax.vmap(f)))):
        got = mapped(*stacked)
        for lane in range(2):
            compare = assert_bits if program.exact else near
            assert_all([x[lane] for x in got], values(lanes[lane]), note, compare)
    partly(program, f, numbers)
    none = jax.vmap(f)(*program.arguments(jax, program.numbers(1, lanes=0)))
    for got, (name, shape, dtype) in zip(none, program.results):
        assert (got.shape, got.dtype) == ((0, *shape), dtype), f"no lanes: {name}"


def partly(program, f, numbers):
    """The first argument is mapped along its last axis, every other one not at all."""
    first = program.inputs[0]
    axes = [k % 2 and None for k in range(len(numbers))]
    axes[0] = len(first.shape)
    given = [n[0] if axis is None else n for n, axis in zip(numbers, axes)]
    given[0] = np.moveaxis(numbers[0], 0, -1)
    got = jax.vmap(f, in_axes=axes)(*program.arguments(jax, given))
    for lane in range(2):
        row = [n[0] if axis is None else n[lane] for n, axis in zip(numbers, axes)]
        want = values(f(*program.arguments(jax, row)))
        compare = assert_bits if program.exact else near
        assert_all([x[lane] for x in got], want, f"vmap, in_axes={axes}", compare)


@property_of(strategies.any_programs(), 10)
def test_nested_vmap(program):
    """Two levels, which meet in either order, with results along the last axis."""
    f = program.load(jax)
    rows = [program.numbers(seed, lanes=2) for seed in (1, 2, 3)]
    numbers = [np.stack(row) for row in zip(*rows)]  # [3, 2, ...]
    given = program.arguments(jax, numbers)
    once = jax.vmap(jax.vmap(f))(*given)
    ends = [-1] * len(program.results)
    twisted = jax.vmap(jax.vmap(f, 0, ends), 1, ends)(*given)
    compare = assert_bits if program.exact else near
    for k, row in enumerate(rows):
        for lane in range(2):
            arguments = program.arguments(jax, [n[lane] for n in row])
            want = values(f(*arguments))
            assert_all([x[k, lane] for x in once], want, "vmap(vmap)", compare)
            assert_all([x[..., k, lane] for x in twisted], want, "twisted", compare)


@property_of(strategies.updating_programs(), 40)
def test_updates(program):
    """What happens in place changes no array that can still be seen."""
    eager = check_values(program)
    f = program.load(jax)
    numbers = program.numbers(0)
    held = program.arguments(jax, numbers)
    fresh = f(*program.arguments(jax, numbers))  # nobody else holds these
    assert_all(values(fresh), eager, "arguments that may be overwritten")
    shared = [x + 0 for x in held]
    assert_all(values(f(*shared)), eager, "arguments that are pending")
    for one, other in zip(shared, held):
        assert_bits(one, other, "an argument changed")
    places = tuple(range(len(held)))
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Some donated buffers were not usable")
        donated = jax.jit(f, donate_argnums=places)(*program.arguments(jax, numbers))
    assert_all(values(donated), eager, "donated arguments")


# -------------------------------------------------------------------------- derivatives


def split_arguments(program, seed=2):
    """A function of the inexact arguments to the inexact results, its arguments."""
    given = program.arguments(jax, program.numbers(seed))
    places, kept = program.inexact(), program.smooth_results()

    def build(library):
        f = program.load(library)

        def run(*xs):
            arguments = list(given)
            for place, x in zip(places, xs):
                arguments[place] = x
            outs = f(*arguments)
            return [outs[i] for i in kept]

        return run

    return build, [given[i] for i in places]


def directions(arrays, seed):
    rng = np.random.default_rng(seed)
    made = []
    for x in arrays:
        t = rng.standard_normal(x.shape)
        if np.issubdtype(x.dtype, np.complexfloating):
            t = t + 1j * rng.standard_normal(x.shape)
        made.append(jnp.asarray(t, x.dtype))
    return made


def paired(xs, ys):
    return sum(
        float(np.sum(np.asarray(x) * np.asarray(y)).real) for x, y in zip(xs, ys)
    )


def total(run):
    """A real number from all results."""

    def f(*xs):
        found = jnp.zeros(())
        for x in run(*xs):
            found = found + jnp.sum(jnp.sin(jnp.real(x)) + jnp.cos(jnp.imag(x)))
        return found

    return f


def finite(*groups):
    return all(np.isfinite(np.asarray(x)).all() for group in groups for x in group)


@property_of(strategies.rough_programs(), 15)
def test_forward_and_reverse(program):
    """jvp, linearize and vjp are one linear map and its transpose, under jit too."""
    build, xs = split_arguments(program)
    run = build(jax)
    ts = directions(xs, 3)
    outs, forward = jax.jvp(run, tuple(xs), tuple(ts))
    tight = 1e-9 if program.precise else 1e-3
    _, plain_forward = jax.jvp(build(PLAIN), tuple(xs), tuple(ts))
    if "2.0 * jax.jvp" not in program.source():
        compare = functools.partial(near, tolerance=tight)
        assert_all(plain_forward, forward, "jvp by Python's control flow", compare)
    compiled = jax.jit(lambda xs, ts: jax.jvp(run, xs, ts))(tuple(xs), tuple(ts))
    compare = functools.partial(near, tolerance=tight)
    assert_all(compiled[1], forward, "jit(jvp)", compare)
    _, linear = jax.linearize(run, *xs)
    assert_all(linear(*ts), forward, "linearize", compare)
    cts = directions(outs, 4)
    _, back = jax.vjp(run, *xs)
    backward = back(cts)
    for x, ct in zip(xs, backward):
        assert x.shape == ct.shape and x.dtype == ct.dtype
    if finite(forward, backward):
        np.testing.assert_allclose(
            paired(cts, forward), paired(backward, ts), tight * 10, tight * 10
        )
    again = jax.jit(lambda xs, cts: jax.vjp(run, *xs)[1](cts))(xs, cts)
    assert_all(again, backward, "jit(vjp)", compare)


@property_of(strategies.looping_programs(), 8)
def test_forward_through_loops(program):
    """jvp through loops whose number of steps depends on values, lane by lane."""
    build, xs = split_arguments(program)
    run = build(jax)
    ts = directions(xs, 3)

    def slopes(xs, ts):
        return jax.jvp(run, xs, ts)[1]

    compare = functools.partial(near, tolerance=1e-9 if program.precise else 1e-3)
    forward = slopes(tuple(xs), tuple(ts))
    if "2.0 * jax.jvp" not in program.source():
        plain_forward = jax.jvp(build(PLAIN), tuple(xs), tuple(ts))[1]
        assert_all(plain_forward, forward, "jvp by Python's control flow", compare)
    lanes = jax.tree.map(lambda x: jnp.stack([x, x * 0.5]), (tuple(xs), tuple(ts)))
    mapped = jax.jit(jax.vmap(slopes))(*lanes)
    assert_all([x[0] for x in mapped], forward, "jit(vmap(jvp))", compare)
    halves = jax.tree.map(lambda x: x[1], lanes)
    assert_all([x[1] for x in mapped], slopes(*halves), "jit(vmap(jvp))", compare)


@property_of(strategies.smooth_programs(), 8)
def test_derivatives_are_slopes(program):
    """Gradients are finite differences, and so are their gradients."""
    build, xs = split_arguments(program)
    f = total(build(jax))
    for order in (1, 2):
        ts = directions(xs, order)
        gradients = jax.grad(f, tuple(range(len(xs))))(*xs)
        check_slope(f, xs, ts, paired(gradients, ts), f"order {order}")

        def along(*xs, f=f, ts=ts):
            found = jax.grad(f, tuple(range(len(xs))))(*xs)
            return sum(jnp.sum(g * t) for g, t in zip(found, ts))

        f = along


def check_slope(f, xs, ts, got, note):
    """A slope along a direction; two steps tell how far differences can be trusted."""
    numbers = [np.asarray(x) for x in xs]
    run = lambda *args: [f(*map(jnp.asarray, args))]
    tangents = [np.asarray(t) for t in ts]
    (wide,) = slopes(run, numbers, tangents, 4e-4)
    (narrow,) = slopes(run, numbers, tangents, 1e-4)
    doubt = 30 * abs(float(wide - narrow)) + 1e-6 * (1 + abs(float(narrow)))
    assert abs(got - float(narrow)) <= doubt, f"{note}: {got}, slope {narrow} ± {doubt}"


@property_of(strategies.rough_programs(), 15)
def test_orders_of_composition(program):
    """jit, grad and vmap in every order."""
    build, _ = split_arguments(program)
    f = total(build(jax))
    places = tuple(range(len(program.inexact())))
    numbers = program.numbers(2, lanes=2)
    stacked = [jnp.asarray(numbers[i]) for i in program.inexact()]
    gradient = jax.grad(f, places)
    lanes = [gradient(*[x[lane] for x in stacked]) for lane in range(2)]
    want = [np.stack([np.asarray(lane[k]) for lane in lanes]) for k in places]
    summed = lambda g: lambda *xs: jnp.sum(g(*xs))
    orders = {
        "jit(vmap(grad))": jax.jit(jax.vmap(gradient)),
        "vmap(jit(grad))": jax.vmap(jax.jit(gradient)),
        "vmap(grad(jit))": jax.vmap(jax.grad(jax.jit(f), places)),
        "jit(grad(vmap))": jax.jit(jax.grad(summed(jax.vmap(f)), places)),
        "grad(jit(vmap))": jax.grad(summed(jax.jit(jax.vmap(f))), places),
        "grad(vmap(jit))": jax.grad(summed(jax.vmap(jax.jit(f))), places),
    }
    compare = functools.partial(near, tolerance=1e-9 if program.precise else 1e-3)
    for note, order in orders.items():
        assert_all(order(*stacked), want, note, compare)


@property_of(strategies.smooth_programs(), 5)
def test_second_derivatives_agree(program):
    """Forward over reverse, reverse over reverse and reverse over forward."""
    build, xs = split_arguments(program)
    f = total(build(jax))
    places = tuple(range(len(xs)))
    ts = tuple(directions(xs, 5))
    gradient = jax.grad(f, places)
    _, forward = jax.jvp(gradient, tuple(xs), ts)

    def slope(*xs):
        return jax.jvp(f, xs, ts)[1]

    def along(*xs):
        return sum(jnp.sum(g * t) for g, t in zip(gradient(*xs), ts))

    compare = functools.partial(near, tolerance=1e-8)
    assert_all(jax.grad(slope, places)(*xs), forward, "reverse over forward", compare)
    assert_all(jax.grad(along, places)(*xs), forward, "reverse over reverse", compare)
    again = jax.jit(lambda xs, ts: jax.jvp(gradient, xs, ts)[1])(tuple(xs), ts)
    assert_all(again, forward, "jit", compare)
