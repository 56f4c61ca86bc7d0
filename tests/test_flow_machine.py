"""Branches and loops on the CPU: every plan against Python that interprets the jaxpr."""

import os
import subprocess
import sys

import numpy as np
import pytest
from flow_programs import (
    I0,
    RNG,
    While,
    aval,
    branch,
    check,
    f4,
    get,
    jaxpr_of,
    program,
    put,
    scan,
    while_loop,
)

from tetrad._src.core.avals import Aval
from tetrad._src.ops import compare, contract, convert, reduce, slices
from tetrad._src.ops import elementwise as ew
from tetrad._src.ops import shape as sh
from tetrad._src.passes import inner


@pytest.fixture(params=["inside", "around"], autouse=True)
def place(request, monkeypatch):
    """Loops inside of kernels where that is possible, or around kernels always."""
    if request.param == "around":
        monkeypatch.setattr(inner, "find", lambda *args: None)
    return request.param


# ------------------------------------------------------------------------- branches


@pytest.mark.parametrize("number", [0, 1, 2])
@pytest.mark.parametrize("by_value", [[0, 0, 0], [1, 0, 0]])
def test_branch(number, by_value):
    def fun(i, x, y):
        zero = lambda x: ew.mul(x, 0.0)
        return branch(
            i,
            [
                lambda x, y: [x, ew.add(x, y)],
                lambda x, y: [ew.mul(ew.sin(x), y), zero(x)],
                lambda x, y: [y, y],
            ],
            x,
            y,
        )

    check(fun, np.int32(number), f4(5), f4(5), by_value=by_value)


@pytest.mark.parametrize("number", [0, 1])
def test_branch_of_sums_and_products(number):
    def fun(i, a, b):
        c = ew.add(a, 1.0)
        outs = branch(
            i,
            [
                lambda c, b: [contract.dot(c, b), sh.reduce_sum(c, (0, 1))],
                lambda c, b: [ew.add(c, b), np.float32(3)],
            ],
            c,
            b,
        )
        return [ew.neg(outs[0]), outs[1], c]

    check(fun, np.int32(number), f4(20, 20), f4(20, 20), tol=1e-4)


def test_branch_of_scalars():
    def fun(i, s):
        return branch(i, [lambda s: ew.add(s, 1.0), lambda s: np.float32(7)], s)

    for number in (0, 1):
        for by_value in ([0, 0], [0, 1], [1, 1]):
            check(fun, np.int32(number), np.float32(2.5), by_value=by_value)


# ----------------------------------------------------------------------------- loops


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("shape", [(), (3,), (16,), (5, 7), (0,)])
@pytest.mark.parametrize("length", [0, 1, 6])
def test_scan_of_elementwise(shape, length, reverse):
    def fun(c, x):
        return scan(
            lambda c, x: [ew.add(ew.mul(c, 0.5), x), ew.mul(c, x)],
            [c],
            [x],
            reverse=reverse,
        )

    check(fun, f4(*shape), f4(length, *shape))


def test_scan_where_carry_is_stacked():
    def fun(c, x):
        def body(c, x):
            new = ew.add(ew.mul(c, 0.5), x)
            return [new, new]

        return scan(body, [c], [x])

    check(fun, f4(5), f4(9, 5))


def test_scan_in_place():
    """What is carried stays where it is; nothing is copied."""

    def fun(c, x):
        return scan(lambda c, x: [ew.add(ew.mul(c, 0.5), x)], [c], [x])

    compiled = check(fun, f4(5), f4(9, 5))
    assert compiled.donors == (0,)
    assert compiled.arena == 0


def test_scan_with_constants_and_products():
    def fun(w, b, h, x):
        def body(w, b, h, x):
            new = ew.tanh(ew.add(ew.add(contract.dot(w, h), x), b))
            return [new, ew.mul(new, 2.0), sh.reduce_sum(new, (0,))]

        return scan(body, [h], [x], consts=[w, b])

    check(fun, f4(8, 8), f4(8), f4(8), f4(20, 8), tol=1e-5)


def test_scan_of_products_into_parts():
    def fun(w, x):
        return scan(lambda w, x: [contract.dot(w, x)], [], [x], consts=[w])

    check(fun, f4(5, 7), f4(6, 7), tol=1e-5)
    check(fun, f4(5, 7), f4(6, 7, 3), tol=1e-5)


def test_scan_swaps():
    def fun(a, b, c):
        return scan(lambda a, b, c: [b, c, a], [a, b, c], length=4)

    check(fun, f4(5), f4(5), f4(5))
    check(
        lambda a, b: scan(lambda a, b: [ew.add(a, b), a], [a, b], length=7),
        f4(6),
        f4(6),
    )
    check(
        lambda a, b: scan(
            lambda a, b: [sh.rev(b, (0,)), sh.rev(a, (0,))], [a, b], length=3
        ),
        f4(6),
        f4(6),
    )


def test_scan_carries_that_do_not_change():
    def fun(a, b):
        return scan(lambda a, b: [a, ew.add(a, b), b], [a, b], length=3)

    check(fun, f4(5), f4(5))


def test_scan_of_stencil():
    def fun(x):
        def body(x):
            return ew.add(
                x,
                slices.concatenate(
                    [slices.slice(x, (1,), (50,)), slices.slice(x, (0,), (1,))], 0
                ),
            )

        return scan(body, [x], length=5)

    check(fun, f4(50), tol=1e-4)


def test_scan_of_scalars_by_value():
    def fun(c, s, x):
        return scan(lambda s, c, x: [ew.add(ew.mul(c, s), x), c], [c], [x], consts=[s])

    for by_value in ([0, 0, 0], [1, 1, 0], [0, 1, 0]):
        check(fun, np.float32(1), np.float32(0.9), f4(30), by_value=by_value)


def test_scan_of_literals():
    def fun(x):
        zeros = sh.broadcast_in_dim(np.float32(0), (4,), ())
        return scan(
            lambda a, b, x: [ew.add(a, x), np.float32(2), b],
            [zeros, np.float32(1)],
            [x],
        )

    check(fun, f4(6, 4))


def test_scan_of_pending_expressions():
    def fun(x, y):
        return scan(
            lambda c, x: [ew.add(c, x), ew.mul(c, 2.0)],
            [ew.mul(sh.transpose(y, (1, 0)), 2.0)],
            [sh.transpose(ew.exp(x), (2, 1, 0))],
        )

    check(fun, f4(4, 5, 6), f4(4, 5), tol=1e-5)


@pytest.mark.parametrize("reverse", [False, True])
def test_scan_in_scan(reverse):
    def fun(c, x):
        def inner(c, x):
            return [ew.add(ew.mul(c, 0.5), x), ew.add(c, 1.0)]

        def outer(c, x):
            new, ys = scan(inner, [c], [x], reverse=reverse)
            return [ew.mul(new, 0.9), ys, sh.reduce_sum(ys, (0,))]

        return scan(outer, [c], [x], reverse=not reverse)

    check(fun, f4(3), f4(4, 5, 3), tol=1e-5)
    check(fun, f4(), f4(4, 5), tol=1e-5)


def test_scan_updates_in_place():
    def fun(x, y):
        def body(x, i, y):
            return [put(x, ew.mul(y, 2.0), i), ew.add(i, np.int32(1))]

        return scan(body, [x, I0], [y])

    compiled = check(fun, f4(10, 7), f4(6, 7))
    assert compiled.donors[0] == 0
    assert compiled.arena < 7 * 10 * 4 + 400


def test_scan_updates_twice_in_place():
    def fun(x):
        def body(x, i):
            first = put(x, ew.mul(get(x, i), 2.0), i)
            second = put(first, get(first, 0), ew.add(i, np.int32(1)))
            return [second, ew.add(i, np.int32(1))]

        return scan(body, [x, I0], length=5)

    compiled = check(fun, f4(100, 70))
    assert compiled.donors[0] == 0
    assert compiled.arena < 7000 * 4


def test_scan_reads_after_writing():
    """What is still read may not be overwritten."""

    def fun(x):
        def body(x):
            new = ew.mul(x, 0.5)
            return [
                ew.add(new, sh.broadcast_in_dim(sh.reduce_sum(x, (0,)), (100,), ())),
                sh.reduce_sum(new, (0,)),
            ]

        return scan(body, [x], length=5)

    check(fun, f4(100), tol=1e-4)


@pytest.mark.parametrize("count", [0, 1, 17])
@pytest.mark.parametrize("by_value", [[0, 0, 0], [1, 0, 0], [1, 1, 0]])
def test_while(count, by_value):
    def fun(n, i, x):
        return while_loop(
            lambda n, i, x: compare.lt(i, n),
            lambda i, x: [ew.add(i, np.int32(1)), ew.mul(x, 1.1)],
            [i, x],
            cond_consts=[n],
        )

    check(fun, np.int32(count), I0, f4(6), by_value=by_value, tol=1e-4)


def test_while_of_arrays():
    def fun(x):
        return while_loop(
            lambda x: compare.lt(sh.reduce_sum(x, (0,)), 100.0),
            lambda b, x: ew.add(x, b),
            [ew.mul(x, x)],
            body_consts=[ew.exp(x)],
        )

    check(fun, f4(6), tol=1e-4)


def test_while_never():
    def fun(x):
        return while_loop(lambda x: np.bool_(False), lambda x: ew.add(x, 1.0), [x])

    check(fun, f4(6))


def test_while_in_scan_in_while():
    def fun(x):
        def halve(v):
            return while_loop(
                lambda v: compare.gt(v, 1.0), lambda v: ew.mul(v, 0.5), [v]
            )

        def body(c, v):
            (h,) = halve(ew.mul(v, v))
            return [ew.add(c, h), h]

        def turn(k, x, c):
            total, halves = scan(body, [c], [x])
            return [ew.add(k, np.int32(1)), ew.add(x, halves), total]

        return while_loop(
            lambda k, x, c: compare.lt(k, np.int32(3)), turn, [I0, x, np.float32(0)]
        )

    check(fun, f4(6) * 5, tol=1e-4)


def test_branch_in_scan():
    def fun(c, x, which):
        def body(c, x, w):
            (new,) = branch(
                w,
                [
                    lambda c, x: ew.add(c, x),
                    lambda c, x: c,
                    lambda c, x: ew.mul(x, 2.0),
                ],
                c,
                x,
            )
            return [new, ew.neg(new)]

        return scan(body, [c], [x, which])

    check(fun, f4(5), f4(6, 5), np.array([0, 1, 2, 1, 0, 0], "i4"))
    check(fun, f4(), f4(6), np.array([0, 1, 2, 1, 0, 0], "i4"))


def test_scan_in_branch():
    def fun(i, c, x):
        return branch(
            i,
            [
                lambda c, x: scan(lambda c, x: [ew.add(c, x), c], [c], [x]),
                lambda c, x: scan(
                    lambda c, x: [ew.mul(c, x), x], [c], [x], reverse=True
                ),
                lambda c, x: [ew.add(c, 1.0), x],
            ],
            c,
            x,
        )

    for number in range(3):
        check(fun, np.int32(number), f4(5), f4(6, 5))


def test_work_counts_turns():
    def fun(x, n):
        return scan(lambda x: [ew.mul(x, 1.5)], [x], length=n)

    few = program(lambda x: fun(x, 10), [f4(8)])[1]
    many = program(lambda x: fun(x, 10_000), [f4(8)])[1]
    assert few.work < 2_000 and 3_000 < many.work < 3_000_000
    endless = program(
        lambda x: while_loop(lambda x: np.bool_(True), lambda x: ew.add(x, 1.0), [x]),
        [f4(8)],
    )[1]
    assert endless.work > 300_000
    assert endless.loops and many.loops


def test_what_never_changes_is_computed_once():
    def fun(w, x):
        def body(w, c, x):
            square = contract.dot(sh.transpose(w, (1, 0)), w)
            row = sh.broadcast_in_dim(ew.exp(sh.reduce_sum(w, (0,))), (8,), (0,))
            return [ew.add(ew.mul(contract.dot(square, c), 0.01), ew.mul(row, x)), c]

        return scan(body, [x], consts=[w], xs=[x], length=8)

    def fun2(w, x):
        return fun(w, sh.reshape(x, (8,)))

    compiled = check(fun2, f4(8, 8), f4(8), tol=1e-4)
    before, inside = compiled.text("plan").split("loop 8 times")
    assert before.count("dot") == 1 and "reduce_sum" in before and "exp" in before
    assert inside.count("dot") == 1

    def loop(w, x):
        return while_loop(
            lambda w, x: compare.gt(
                sh.reduce_sum(x, (0,)), ew.neg(sh.reduce_sum(ew.exp(w), (0,)))
            ),
            lambda w, x: ew.sub(x, ew.exp(w)),
            [x],
            cond_consts=[w],
            body_consts=[w],
        )

    check(loop, f4(8), f4(8) + 50, tol=1e-4)


# ------------------------------------------------------ inside of kernels: details


def lorenz(y):
    a, b, c = [sh.reshape(slices.slice(y, (i,), (i + 1,)), ()) for i in range(3)]
    parts = [
        ew.mul(ew.sub(b, a), 10.0),
        ew.sub(ew.mul(a, ew.sub(28.0, c)), b),
        ew.sub(ew.mul(a, b), ew.mul(c, 2.5)),
    ]
    return slices.concatenate([sh.reshape(p, (1,)) for p in parts], 0)


def test_tiny_arrays(place):
    def fun(y):
        def body(y):
            half = ew.add(y, ew.mul(lorenz(y), 0.005))
            return [ew.add(y, ew.mul(lorenz(half), 0.01))]

        return scan(body, [y], length=30)

    compiled = check(fun, f4(3), tol=1e-5)
    if place == "inside":
        assert compiled.text("plan").count("kernel") == 1


@pytest.mark.parametrize("reverse", [False, True])
def test_tiny_arrays_are_stacked(reverse):
    def fun(m, x):
        def body(m, x):
            turned = sh.transpose(sh.rev(m, (0,)), (1, 0))
            new = ew.add(ew.mul(turned, 0.5), sh.broadcast_in_dim(x, (2, 2), (1,)))
            count = sh.broadcasted_iota(np.float32, (2, 2), 0)
            return [new, ew.mul(new, count), slices.pad(x, np.float32(7), ((1, 0, 1),))]

        return scan(body, [m], [x], reverse=reverse)

    check(fun, f4(2, 2), f4(5, 2), tol=1e-5)


def test_tiny_arrays_at_many_points(place):
    def fun(y, x):
        def body(y, x):
            first = slices.slice(y, (0, 0), (50, 1))
            rest = slices.slice(y, (0, 1), (50, 3))
            new = slices.concatenate([ew.mul(rest, 0.5), first], 1)
            scaled = ew.add(new, sh.broadcast_in_dim(x, (50, 3), (0,)))
            return [scaled, ew.mul(new, 2.0), sh.reshape(first, (50,))]

        return scan(body, [y], [x])

    compiled = check(fun, f4(50, 3), f4(4, 50), tol=1e-5)
    if place == "inside":
        assert compiled.text("plan").count("kernel") == 1


def test_tiny_arrays_that_do_not_fit():
    """A slice along the space needs other points, so the loop goes around kernels."""

    def fun(y):
        def body(y):
            return [
                slices.concatenate(
                    [slices.slice(y, (1, 0), (50, 3)), slices.slice(y, (0, 0), (1, 3))],
                    0,
                )
            ]

        return scan(body, [y], length=3)

    check(fun, f4(50, 3))


@pytest.mark.parametrize("dtype", ["f8", "i4", "i8", "u1", "c8", "f2"])
@pytest.mark.parametrize("shape", [(), (3,), (40,)])
def test_dtypes(dtype, shape):
    def fun(c, x):
        def body(c, x):
            return [ew.add(ew.mul(c, x), x), c]

        return scan(body, [c], [x])

    value = lambda *s: np.asarray(f4(*s) * 3).astype(dtype)
    check(fun, value(*shape), value(7, *shape), tol=1e-2 if dtype == "f2" else 1e-4)


def test_bools_are_carried():
    def fun(c, x):
        def body(c, flag, x):
            return [ew.add(c, x), compare.lt(c, x), flag]

        return scan(body, [c, compare.lt(c, 0.0)], [x])

    check(fun, f4(40), f4(5, 40))
    check(fun, f4(), f4(5))


def test_counts_and_constants_of_a_turn():
    def fun(c, s):
        def body(s, c, i):
            count = sh.broadcasted_iota(np.float32, (40,), 0)
            wide = sh.broadcast_in_dim(
                ew.add(s, convert.convert_element_type(i, np.float32)), (40,), ()
            )
            return [ew.add(ew.add(c, count), wide), ew.add(i, np.int32(1))]

        return scan(body, [c, I0], consts=[s], length=4)

    check(fun, f4(40), np.float32(2), tol=1e-5)
    check(fun, f4(40), np.float32(2), by_value=[0, 1], tol=1e-5)


def test_flows_inside_of_flows(place):
    def fun(x, y):
        def halve(v):
            return while_loop(
                lambda v: compare.gt(v, 1.0), lambda v: ew.mul(v, 0.5), [v]
            )[0]

        def body(c, x, y):
            less = convert.convert_element_type(compare.lt(x, 0.0), np.int32)
            (v,) = branch(
                less,
                [lambda c, x: ew.add(c, halve(x)), lambda c, x: ew.mul(c, 0.5)],
                c,
                x,
            )
            (v,) = scan(lambda x, v: [ew.add(v, x)], [v], consts=[x], length=3)
            return [v, ew.add(y, sh.broadcast_in_dim(v, (30,), ())), ew.neg(v)]

        return scan(lambda c, y, x: [*body(c, x, y)], [np.float32(1), y], [x])

    compiled = check(fun, f4(20) * 5, f4(30), tol=1e-4)
    if place == "inside":
        assert compiled.text("plan").count("kernel") == 1


def test_large_spaces():
    def fun(c, x, k):
        return scan(
            lambda k, c, x: [ew.add(ew.mul(c, k), x), ew.mul(c, x)],
            [c],
            [x],
            consts=[k],
        )

    check(fun, f4(300, 401), f4(3, 300, 401), f4(300, 401), tol=1e-5)
    check(
        lambda c, x, k: fun(sh.transpose(c, (1, 0)), x, ew.exp(k)),
        f4(401, 300),
        f4(3, 300, 401),
        f4(300, 401),
        tol=1e-5,
    )


def test_results_that_nobody_wants():
    def fun(c, x):
        _, ys, _ = scan(
            lambda c, d, x: [ew.add(c, x), ew.mul(d, x), c, x][:3], [c, c], [x]
        )
        return ys

    check(fun, f4(5), f4(6, 5))


class LaneWhile(While):
    by_lane = True


@pytest.mark.parametrize("size", [1, 5, 33, 70, 5000])
def test_lanes_end_on_their_own(size, place):
    """A loop of many lanes: each vector goes on until its own lanes are done."""

    def fun(n):
        zeros = sh.broadcast_in_dim(np.int32(0), (size,), ())

        def body(n, going, k):
            k = compare.select_n(going, k, ew.add(k, np.int32(1)))
            return [compare.lt(k, n), k]

        test = jaxpr_of(
            lambda going, k: reduce.reduce_or(going, (0,)),
            [Aval((size,), np.dtype(bool)), aval(zeros)],
        )
        step = jaxpr_of(body, [aval(n), Aval((size,), np.dtype(bool)), aval(zeros)])
        return LaneWhile(test, step, 0, 1)(n, compare.lt(zeros, n), zeros)

    compiled = check(fun, RNG.integers(0, 9, size).astype("i4"))
    if place == "inside" and size > 1:
        assert "lanes" in compiled.text("plan")


ENDLESS = """
import os, signal, sys, threading, time
sys.path.insert(0, {tests!r})
import numpy as np
import tetrad, tetrad.numpy as jnp
from flow_programs import scan, while_loop
from tetrad._src.ops import compare, elementwise as ew, shape as sh

x = jnp.arange(5.0)
other = x * 3
{loop}
assert (other + x).tolist() == [0, 4, 8, 12, 16]  # goes on beside the loop
assert not endless.is_ready()
after = endless + 1
threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT)).start()
started = time.monotonic()
try:
    after.block_until_ready()
except KeyboardInterrupt:
    assert time.monotonic() - started < 0.8
else:
    raise AssertionError("no interrupt")
started = time.monotonic()
for lost in (endless, after, endless * 2):
    try:
        lost.tolist()
    except tetrad.errors.JaxRuntimeError as problem:
        assert "never computed" in str(problem), problem
    else:
        raise AssertionError("a value that was never computed")
assert x.tolist() == [0, 1, 2, 3, 4] and other.tolist() == [0, 3, 6, 9, 12]
total, _ = scan(lambda c, v: [ew.add(c, v), c], [jnp.float32(0)], [x])
assert total == 10
assert time.monotonic() - started < 5
print("survived")
"""


LOOPS = {
    "around": """
(endless,) = while_loop(
    lambda x: compare.ge(sh.reduce_sum(x, (0,)), -1.0), lambda x: ew.add(x, 1.0), [x]
)
""",
    "inside": """
(endless,) = while_loop(lambda x: np.bool_(True), lambda x: ew.add(x, 1.0), [x])
""",
    "long": """
(endless,) = scan(lambda x: [ew.tanh(ew.add(x, 1.0))], [x], length=10**11)
""",
}


@pytest.mark.parametrize("loop", ["around", "inside", "long"])
def test_interrupt_of_an_endless_loop(loop, place):
    if place == "around":
        pytest.skip("the loop is chosen by its name")
    tests = os.path.dirname(os.path.abspath(__file__))
    result = subprocess.run(
        [sys.executable, "-c", ENDLESS.format(tests=tests, loop=LOOPS[loop])],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert result.stdout.strip() == "survived", result.stderr
