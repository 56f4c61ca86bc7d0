"""Loops inside of kernels that read and replace elements of arrays in memory."""

import numpy as np
import pytest
from flow_programs import I0, RNG, branch, check, f4, scan, while_loop

from tetrad._src.ops import compare, convert, index, scatter, slices
from tetrad._src.ops import elementwise as ew
from tetrad._src.ops import shape as sh
from tetrad._src.ops.gather import GatherDimensionNumbers, gather
from tetrad._src.passes import inner


@pytest.fixture(params=["inside", "around"], autouse=True)
def place(request, monkeypatch):
    """Loops inside of kernels where that is possible, or around kernels always."""
    if request.param == "around":
        monkeypatch.setattr(inner, "find", lambda *args: None)
    return request.param


# --------------------------------------------------- arrays in memory inside of kernels

ADD = np.int32(1)


def at(x, *where):
    """The element of `x` at scalar coordinates."""
    cut = index.dynamic_slice(x, where, (1,) * len(where), allow_negative_indices=False)
    return sh.reshape(cut, ())


def with_at(x, v, *where):
    part = sh.reshape(v, (1,) * len(where))
    return index.dynamic_update_slice(x, part, where, allow_negative_indices=False)


def one_kernel(compiled, place, kernels=1):
    if place == "inside":
        text = compiled.text("plan")
        assert text.count("kernel") <= kernels and "loop" not in text, text


def count_to(n, body, *init):
    """A scan of n turns that counts them in its first carry."""
    return scan(lambda i, *c: [ew.add(i, ADD), *body(i, *c)], [I0, *init], length=n)[1:]


def test_elements_of_a_table(place):
    def fun(x, y):
        def turn(x, y, i, s):
            far = ew.sub(ew.mul(i, np.int32(3)), np.int32(4))  # also outside: clamped
            new = ew.add(ew.mul(s, 0.5), ew.mul(at(x, i), at(y, far, i)))
            return [ew.add(i, ADD), new]

        return scan(turn, [I0, np.float32(0)], consts=[x, y], length=25)

    one_kernel(check(fun, f4(20), f4(30, 40), tol=1e-5), place)


def test_elements_are_replaced(place):
    def fun(x):
        return count_to(
            60,
            lambda i, x: [
                with_at(x, ew.add(ew.mul(at(x, ew.sub(i, ADD)), 0.5), 1.0), i)
            ],
            x,
        )

    compiled = check(fun, f4(50))
    one_kernel(compiled, place)
    assert compiled.donors == (0,)


def test_old_elements_are_still_wanted():
    """The array of the turn before is read after the new one was written."""

    def fun(x):
        def body(i, x):
            new = with_at(x, 7.0, i)
            return [with_at(new, ew.add(at(x, i), at(new, i)), np.int32(3))]

        return count_to(20, body, x)

    check(fun, f4(50))


def test_updates_that_nobody_wants():
    def fun(x):
        def body(i, x, s):
            other = with_at(x, 100.0, i)
            return [x, ew.add(s, at(other, ew.mul(i, np.int32(2))))]

        return count_to(20, body, x, np.float32(0))

    check(fun, f4(50))


def test_updates_in_branches():
    def fun(x):
        def body(i, x):
            odd = convert.convert_element_type(compare.lt(at(x, i), 0.0), np.int32)
            (x,) = branch(odd, [lambda x, i: with_at(x, 5.0, i), lambda x, i: x], x, i)
            (v,) = branch(
                odd,
                [lambda x, i: at(x, i), lambda x, i: at(with_at(x, 9.0, i), i)],
                x,
                i,
            )
            return [with_at(x, v, ew.add(i, ADD))]

        return count_to(20, body, x)

    check(fun, f4(50))


def test_an_array_is_read_and_carried():
    def fun(x):
        def turn(old, i, x):
            return [
                ew.add(i, ADD),
                with_at(x, ew.add(at(x, i), at(old, ew.add(i, ADD))), ew.add(i, ADD)),
            ]

        return scan(turn, [I0, x], consts=[x], length=30)

    check(fun, f4(50), tol=1e-5)


def test_an_inner_loop_reads_what_it_changes():
    def fun(x):
        def inner_turn(old, j, x):
            return [ew.add(j, ADD), with_at(x, ew.add(at(old, ew.sub(j, ADD)), 1.0), j)]

        def body(i, x):
            return [scan(inner_turn, [I0, x], consts=[x], length=10)[1]]

        return count_to(3, body, x)

    check(fun, f4(50))


def test_longest_common_subsequence(place):
    def fun(a, b, table):
        def row(a, b, i, table):
            def cell(a, b, i, j, t):
                same = compare.eq(at(a, i), at(b, j))
                up, left = at(t, i, ew.add(j, ADD)), at(t, ew.add(i, ADD), j)
                best = compare.select_n(
                    same, ew.max(up, left), ew.add(at(t, i, j), ADD)
                )
                return [
                    ew.add(j, ADD),
                    with_at(t, best, ew.add(i, ADD), ew.add(j, ADD)),
                ]

            _, table = scan(cell, [I0, table], consts=[a, b, i], length=18)
            return [ew.add(i, ADD), table]

        return scan(row, [I0, table], consts=[a, b], length=21)

    a, b = RNG.integers(0, 4, 21).astype("i4"), RNG.integers(0, 4, 18).astype("i4")
    one_kernel(check(fun, a, b, np.zeros((22, 19), "i4")), place)


def test_sorting_by_swaps(place):
    def fun(x):
        def step(j, x):
            a, b = at(x, j), at(x, ew.add(j, ADD))
            x = with_at(x, ew.min(a, b), j)
            return [ew.add(j, ADD), with_at(x, ew.max(a, b), ew.add(j, ADD))]

        return count_to(30, lambda i, x: [scan(step, [I0, x], length=29)[1]], x)

    compiled = check(fun, f4(30))
    one_kernel(compiled, place)


def test_a_while_over_an_array(place):
    def fun(x):
        return while_loop(
            lambda i, x: compare.lt(at(x, i), 100.0),
            lambda i, x: [
                ew.add(i, ADD),
                with_at(x, ew.mul(at(x, i), 2.0), ew.add(i, ADD)),
            ],
            [I0, x],
        )

    one_kernel(check(fun, np.ones(50, "f4")), place)


def test_rows_of_a_table_at_many_points(place):
    def fun(c, t, u):
        def turn(t, u, i, c):
            row = sh.reshape(index.dynamic_slice_in_dim(t, i, 1), (40,))
            return [ew.add(i, ADD), ew.add(ew.mul(c, at(u, i)), row)]

        return scan(turn, [I0, c], consts=[t, u], length=9)

    one_kernel(check(fun, f4(40), f4(9, 40), f4(30), tol=1e-4), place)


@pytest.mark.parametrize("mode", ["clip", "fill"])
def test_gathers_and_scatters(mode, place):
    numbers = GatherDimensionNumbers((0,), (), (0,))
    pairs = scatter.ScatterDimensionNumbers((), (0,), (0,))

    def fun(x, t):
        def turn(t, i, x):
            far = ew.sub(ew.mul(i, np.int32(4)), np.int32(2))
            window = gather(
                t, sh.reshape(far, (1,)), numbers, (3,), mode=mode, fill_value=2.0
            )
            both = slices.concatenate([sh.reshape(v, (1, 1)) for v in (i, far)], 0)
            x = scatter.scatter_add(
                x, both, slices.slice(window, (0,), (2,)), pairs, mode=mode
            )
            new = sh.reshape(slices.slice(window, (2,), (3,)), (1,))
            return [
                ew.add(i, ADD),
                scatter.scatter(x, sh.reshape(far, (1, 1)), new, pairs, mode=mode),
            ]

        return scan(turn, [I0, x], consts=[t], length=8)

    one_kernel(check(fun, f4(20), f4(25), tol=1e-5), place)


@pytest.mark.parametrize("dtype", ["f8", "i8", "u1", "c8", "bool", "f2"])
def test_dtypes_of_arrays_in_memory(dtype):
    def fun(x):
        return count_to(
            20, lambda i, x: [with_at(x, at(x, ew.mul(i, np.int32(7))), i)], x
        )

    check(fun, (RNG.random(40) * 4).astype(dtype))


@pytest.mark.parametrize("seed", range(30))
def test_random_programs_over_an_array(seed):
    """Reads and writes of arrays in any order, in loops and branches."""
    draw = np.random.default_rng(seed)

    def scalar(i, s, x):
        kind = draw.integers(4)
        place = ew.add(i, np.int32(draw.integers(-3, 8)))
        if kind == 0:
            return ew.add(ew.mul(s, 0.5), 0.25)
        if kind == 1:
            return ew.add(s, at(x, place))
        return (
            at(x, place)
            if kind == 2
            else ew.mul(at(x, np.int32(draw.integers(12))), 0.5)
        )

    def step(i, s, x, depth):
        seen = [x]
        for _ in range(draw.integers(1, 4)):
            old = seen[draw.integers(len(seen))] if draw.random() < 0.2 else x
            kind = draw.integers(5)
            if kind < 3:
                x = with_at(
                    x, scalar(i, s, old), ew.add(i, np.int32(draw.integers(-3, 8)))
                )
            elif kind == 3 and depth:
                x, s = inner_loop(i, s, x)
            else:
                s = scalar(i, s, old)
            seen.append(x)
        return s, x

    def inner_loop(i, s, x):
        def turn(i, j, s, x):
            s, x = step(ew.add(i, j), s, x, 0)
            return [ew.add(j, ADD), s, x]

        _, s, x = scan(turn, [I0, s, x], consts=[i], length=3)
        return x, s

    def fun(x, s):
        def turn(i, s, x):
            s, x = step(i, s, x, 1)
            if draw.random() < 0.4:
                less = convert.convert_element_type(compare.lt(s, 0.0), np.int32)
                x, s = branch(
                    less,
                    [lambda i, s, x: step(i, s, x, 0)[::-1], lambda i, s, x: [x, s]],
                    i,
                    s,
                    x,
                )
            return [ew.add(i, ADD), s, x]

        return scan(turn, [I0, s, x], length=5)

    check(fun, f4(20), np.float32(0.5), tol=1e-4)
