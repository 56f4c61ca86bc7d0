"""The CPU compiler, from jaxprs to results: every template against NumPy."""

import numpy as np
import pytest
from compiling import compiled, execute, run

from tetrad._src.cpu.pool import native
from tetrad._src.ops import contract, convert, index, reduce, scatter, slices
from tetrad._src.ops import elementwise as ew
from tetrad._src.ops import shape as sh
from tetrad._src.ops.gather import GatherDimensionNumbers, gather

RNG = np.random.default_rng(0)


def sample(*shape, dtype="f4"):
    if dtype == "bool":
        return RNG.random(shape) < 0.5
    if np.dtype(dtype).kind in "iu":
        return RNG.integers(0, 50, shape).astype(dtype)
    if np.dtype(dtype).kind == "c":
        return (RNG.standard_normal(shape) + 1j * RNG.standard_normal(shape)).astype(
            dtype
        )
    return RNG.standard_normal(shape).astype(dtype)


def check(fun, args, want, tol=2e-5, by_value=None):
    want = want if isinstance(want, (list, tuple)) else [want]
    for got, expected in zip(run(fun, args, by_value), want, strict=True):
        expected = np.asarray(expected)
        assert got.shape == expected.shape
        np.testing.assert_allclose(
            np.asarray(got, expected.dtype), expected, rtol=tol, atol=tol
        )


SHAPES = [(5, 37), (1,), (), (16,), (1000,), (3, 4, 5), (100, 3), (3, 100), (7, 1, 9),
          (40000,), (0,), (3, 0, 2)]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_map(shape):
    x = sample(*shape)
    check(lambda a: ew.mul(ew.add(a, a), 3.0), [x], x * 6)


REDUCED = [
    ((5, 37), (0,)), ((5, 37), (1,)), ((5, 37), (0, 1)), ((1,), (0,)), ((16,), (0,)),
    ((1000,), (0,)), ((3, 4, 5), (0,)), ((3, 4, 5), (1,)), ((3, 4, 5), (2,)),
    ((3, 4, 5), (0, 2)), ((3, 4, 5), (0, 1, 2)), ((100, 3), (1,)), ((3, 100), (0,)),
    ((7, 1, 9), (1,)), ((40000,), (0,)), ((100000,), (0,)), ((300, 400), (0, 1)),
    ((300, 400), (0,)), ((300, 400), (1,)), ((3, 100000), (1,)), ((100000, 3), (0,)),
    ((20, 30, 40, 5), (1, 3)), ((20, 30, 40, 5), (0, 2)), ((2, 70000), (0,)),
    ((5000, 20), (1,)), ((30, 5000), (0,)), ((1, 1), (0,)),
]  # fmt: skip


@pytest.mark.parametrize("shape,axes", REDUCED)
def test_sum_and_max(shape, axes):
    x = sample(*shape)
    total = x.sum(axes, dtype="f8")
    check(lambda a: sh.reduce_sum(a, axes), [x], total.astype("f4"), tol=3e-4)
    check(lambda a: reduce.reduce_max(a, axes), [x], x.max(axes))


@pytest.mark.parametrize("shape,axes", [r for r in REDUCED if len(r[1]) == 1])
def test_argmax(shape, axes):
    x = np.round(sample(*shape), 1)  # with ties: the first one counts
    want = x.argmax(axes[0])
    check(lambda a: reduce.argmax(a, axes[0], np.int32), [x], want)


@pytest.mark.parametrize("shape,axes", [((0, 5), (0,)), ((5, 0), (1,)), ((0, 5), (1,))])
def test_reduce_of_nothing(shape, axes):
    x = sample(*shape)
    check(lambda a: sh.reduce_sum(a, axes), [x], x.sum(axes))


def test_views():
    x, row, column = sample(5, 37), sample(37), sample(5)
    twice = lambda a: ew.add(a, a)
    check(
        lambda a, b: ew.add(a, sh.broadcast_in_dim(b, (5, 37), (1,))), [x, row], x + row
    )
    check(
        lambda a, b: ew.add(a, sh.broadcast_in_dim(b, (5, 37), (0,))),
        [x, column],
        x + column[:, None],
    )
    check(lambda a: sh.transpose(a, (1, 0)), [x], x.T)
    check(lambda a: twice(sh.transpose(twice(a), (1, 0))), [x], x.T * 4)
    check(lambda a: sh.reshape(sh.transpose(a, (1, 0)), (185,)), [x], x.T.reshape(-1))
    check(lambda a: sh.rev(a, (1,)), [x], x[:, ::-1])
    check(
        lambda a: twice(slices.slice(a, (1, 2), (5, 30), (2, 3))),
        [x],
        2 * x[1:5:2, 2:30:3],
    )


def test_counting():
    x = sample(5, 37)
    count = lambda axis: sh.broadcasted_iota(np.float32, (5, 37), axis)
    check(lambda a: ew.add(a, count(1)), [x], x + np.arange(37))
    check(lambda a: ew.add(a, count(0)), [x], x + np.arange(5)[:, None])
    check(lambda: sh.iota(np.int32, 100), [], np.arange(100))
    check(lambda: sh.transpose(count(0), (1, 0)), [], np.tile(np.arange(5.0), (37, 1)))


def test_regions():
    x, y = sample(5, 37), sample(5, 37)
    both = lambda axis: lambda a, b: slices.concatenate([a, ew.mul(b, 2.0)], axis)
    check(both(0), [x, y], np.concatenate([x, y * 2], 0))
    check(both(1), [x, y], np.concatenate([x, y * 2], 1))
    padded = np.full((8, 76), 7, "f4")
    padded[1:6, 0:73:2] = x
    check(lambda a: slices.pad(a, np.float32(7), ((1, 2, 0), (0, 3, 1))), [x], padded)


def test_regions_do_not_touch_their_neighbours():
    parts = [sample(n) for n in (1, 3, 17, 2, 40)]
    check(lambda *xs: slices.concatenate(xs, 0), parts, np.concatenate(parts))


def test_run_time_starts():
    x = sample(5, 37)
    cut = lambda a, i, j: index.dynamic_slice(
        a, (i, j), (2, 5), allow_negative_indices=False
    )
    for i, j in ((1, 3), (4, 35), (-7, 0)):
        low, left = np.clip(i, 0, 3), np.clip(j, 0, 32)
        want = x[low : low + 2, left : left + 5]
        check(cut, [x, np.int32(i), np.int32(j)], want)
        check(cut, [x, np.int32(i), np.int32(j)], want, by_value=[0, 1, 1])
    put = lambda a, u, i: index.dynamic_update_slice(
        a, u, (i, np.int32(2)), allow_negative_indices=False
    )
    want = x.copy()
    want[1:3, 2:7] = 9
    check(put, [x, np.full((2, 5), 9, "f4"), np.int32(1)], want)


def test_gather_and_scatter():
    x = sample(200, 30)
    rows = RNG.integers(0, 200, (13, 1)).astype("i4")
    numbers = GatherDimensionNumbers((1,), (0,), (0,))
    check(
        lambda a, i: gather(a, i, numbers, (1, 30), mode="clip"),
        [x, rows],
        x[rows[:, 0]],
    )
    at = scatter.ScatterDimensionNumbers((), (0,), (0,))
    where = RNG.integers(-2, 12, (50, 1)).astype("i4")
    new = sample(50)
    want = np.zeros(10, "f4")
    last = np.zeros(10, "f4")
    for i, v in zip(where[:, 0], new):
        if 0 <= i < 10:
            want[i] += v
            last[i] = v
    zeros = np.zeros(10, "f4")
    check(lambda z, i, v: scatter.scatter_add(z, i, v, at), [zeros, where, new], want)
    check(lambda z, i, v: scatter.scatter(z, i, v, at), [zeros, where, new], last)


DTYPES = ["f8", "i8", "i4", "i2", "i1", "u1", "u4", "u8", "c8", "c16", "f2"]


@pytest.mark.parametrize("dtype", DTYPES)
def test_element_types(dtype):
    x, y = sample(5, 37, dtype=dtype), sample(5, 37, dtype=dtype)
    tol = 1e-2 if dtype == "f2" else 1e-5
    check(ew.add, [x, y], x + y, tol=tol)
    for axis in (0, 1):
        want = x.sum(axis, dtype=x.dtype if dtype != "f2" else "f4")
        check(lambda a: sh.reduce_sum(a, (axis,)), [x], want, tol=20 * tol)


def test_bool():
    x, y = sample(5, 37, dtype="bool"), sample(5, 37, dtype="bool")
    check(ew.bitwise_xor, [x, y], x ^ y)
    check(lambda a: reduce.reduce_and(a, (1,)), [x], x.all(1))


def test_conversion():
    x = sample(5, 37) * 10
    check(lambda a: convert.convert_element_type(a, np.int32), [x], x.astype("i4"))


def dot(contract_left, contract_right, batch=((), ())):
    dims = ((contract_left, contract_right), batch)
    return lambda a, b: contract.dot_general(a, b, dims)


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i4", "i1", "f2", "u8"])
def test_products(dtype):
    a, b = sample(20, 30, dtype=dtype), sample(30, 40, dtype=dtype)
    wide = "f4" if dtype == "f2" else dtype
    want = a.astype(wide) @ b.astype(wide)
    tol = 2e-2 if dtype == "f2" else 1e-4
    check(dot((1,), (0,)), [a, b], want, tol=tol)
    check(dot((0,), (0,)), [a.T.copy(), b], want, tol=tol)
    check(dot((1,), (1,)), [a, b.T.copy()], want, tol=tol)
    check(dot((1,), (0,)), [a, b[:, 0].copy()], want[:, 0], tol=tol)


def test_products_of_many_axes():
    a, b = sample(3, 20, 30), sample(3, 30, 40)
    check(dot((2,), (1,), ((0,), (0,))), [a, b], a @ b, tol=1e-4)
    c = sample(4, 20, 5)
    want = np.einsum("akc,kn->acn", c, b[0, :20])
    check(dot((1,), (0,)), [c, b[0, :20].copy()], want, tol=1e-4)
    d = sample(30, 20, 7)
    want = np.einsum("abk,kbn->an", a, d)
    check(dot((2, 1), (0, 1)), [a, d], want, tol=1e-4)


def test_product_of_views():
    a, b = sample(30, 20), sample(30, 40)
    fun = lambda x, y: dot((1,), (0,))(sh.transpose(x, (1, 0)), ew.tanh(y))
    check(fun, [a, b], a.T @ np.tanh(b), tol=1e-4)


def test_outputs_of_all_kinds():
    x = sample(5, 37)
    check(
        lambda a: [ew.neg(a), a, sh.transpose(a, (1, 0)), sh.full((3,), 2.5)],
        [x],
        [-x, x, x.T, np.full(3, 2.5)],
    )

    def twice(a):
        b = ew.neg(a)
        return [b, b]

    check(twice, [x], [-x, -x])


def standardise(a):
    shape, n = a.aval.shape, float(a.aval.shape[0])
    mean = ew.div(sh.reduce_sum(a, (0,)), n)
    d = ew.sub(a, sh.broadcast_in_dim(mean, shape, (1,)))
    var = ew.div(sh.reduce_sum(ew.mul(d, d), (0,)), n)
    return ew.div(d, sh.broadcast_in_dim(ew.sqrt(var), shape, (1,)))


def softmax(a):
    shape = a.aval.shape
    top = sh.broadcast_in_dim(reduce.reduce_max(a, (1,)), shape, (0,))
    e = ew.exp(ew.sub(a, top))
    return ew.div(e, sh.broadcast_in_dim(sh.reduce_sum(e, (1,)), shape, (0,)))


def test_passes_over_data():
    x = sample(200, 300)
    check(standardise, [x], (x - x.mean(0)) / x.std(0), tol=1e-4)
    e = np.exp(x - x.max(1, keepdims=True))
    check(softmax, [x], e / e.sum(1, keepdims=True), tol=1e-4)


def test_a_square_is_not_stored():
    x = sample(1000, 1000)
    program = compiled(lambda a: sh.reduce_sum(ew.mul(a, a), (0, 1)), [x])
    assert program.arena < 0.05 * x.nbytes


def test_inputs_may_be_taken_over():
    x, y = sample(5, 37), sample(5, 37)
    program = compiled(lambda a, b: ew.add(a, ew.mul(b, 2.0)), [x, y])
    assert program.donors[0] in (0, 1)
    got = execute(program, [x, y], program.donors)[0]
    np.testing.assert_allclose(got, x + 2 * y, rtol=1e-6)


def test_an_input_read_elsewhere_is_not_taken_over():
    x = sample(6, 6)
    program = compiled(lambda a: ew.add(a, sh.transpose(a, (1, 0))), [x])
    assert program.donors == (None,)


def write_row(a, value, row):
    blank = sh.full((1, a.aval.shape[1]), value)
    return index.dynamic_update_slice(a, blank, (np.int32(row), np.int32(0)))


def test_updates_share_a_buffer():
    x = sample(8, 9)
    program = compiled(lambda a: write_row(write_row(a, 1.0, 0), 2.0, 3), [x])
    assert program.arena == 0
    assert program.donors == (0,)
    assert program.work_in_place < program.work
    want = x.copy()
    want[0], want[3] = 1, 2
    for takeovers in (None, program.donors):
        np.testing.assert_array_equal(execute(program, [x], takeovers)[0], want)


def test_a_later_reader_of_an_updated_array_sees_the_old_one():
    x = sample(8, 9)

    def fun(a):
        b = write_row(a, 1.0, 0)
        return [b, ew.add(a, b)]

    new = x.copy()
    new[0] = 1
    check(fun, [x], [new, x + new])


def test_an_update_from_the_array_itself():
    x = sample(8, 9)

    def fun(a):
        row = ew.mul(slices.slice(a, (1, 0), (2, 9)), 2.0)
        return index.dynamic_update_slice(a, row, (np.int32(0), np.int32(0)))

    want = x.copy()
    want[0] = x[1] * 2
    program = compiled(fun, [x])
    assert program.donors == (0,)
    np.testing.assert_array_equal(execute(program, [x], (0,))[0], want)


def test_scalars_by_value_do_not_recompile():
    from tetrad._src.cpu import engine

    x = sample(100)
    fun = lambda a, s: ew.mul(ew.add(a, s), s)
    run(fun, [x, np.float32(1)], [0, 1])
    before = len(engine.compiles)
    for n, s in ((33, 2.0), (4000, 3.5)):
        y = sample(n)
        check(
            fun,
            [y, np.float32(s)],
            (y + np.float32(s)) * np.float32(s),
            by_value=[0, 1],
        )
    assert len(engine.compiles) == before


@pytest.mark.parametrize("shape,axes", [((1 << 18,), (0,)), ((700, 900), (0,)),
                                        ((900, 700), (1,)), ((3, 90000), (1,))])  # fmt: skip
def test_threads_do_not_change_bits(shape, axes):
    x = sample(*shape)
    program = compiled(lambda a: sh.reduce_sum(ew.mul(a, a), axes), [x])
    runner = native()
    threads = runner.num_threads
    try:
        found = []
        for count in (1, 2, 3):
            runner.set_num_threads(count)
            found.append(execute(program, [x])[0])
    finally:
        runner.set_num_threads(threads)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.parametrize("shape,axes", [((64, 200), (0, 1)), ((90, 20), (0, 1)),
                                        ((90, 50), (1,)), ((90, 50), (0,))])  # fmt: skip
def test_fusion_does_not_change_bits(shape, axes):
    x, row = sample(*shape), sample(shape[1])

    def producer(a, b):
        return ew.mul(a, ew.exp(sh.broadcast_in_dim(b, shape, (1,))))

    fused = run(lambda a, b: sh.reduce_sum(producer(a, b), axes), [x, row])[0]
    dense = run(producer, [x, row])[0]
    alone = run(lambda a: sh.reduce_sum(a, axes), [dense])[0]
    turned = run(
        lambda a: sh.reduce_sum(sh.transpose(a, (1, 0)), axes), [dense.T.copy()]
    )[0]
    np.testing.assert_array_equal(fused, alone)
    np.testing.assert_array_equal(turned, alone)


def test_folds_of_folds(monkeypatch):
    """A fold so long that the states of its blocks are folded in blocks, too."""
    monkeypatch.setattr("tetrad._src.passes.trees.BLOCK", 64)
    x = sample(77_777)
    check(lambda a: sh.reduce_sum(a, (0,)), [x], x.sum(dtype="f8"), tol=1e-4)
    check(lambda a: reduce.argmax(a, 0, np.int32), [x], x.argmax())


def test_stages_as_text():
    program = compiled(lambda a: sh.reduce_sum(ew.exp(a), (0,)), [sample(10)])
    for stage in ("jaxpr", "plan", "program", "loops", "llvm"):
        assert program.text(stage)
    with pytest.raises(ValueError, match="no stage"):
        program.text("assembly")


@pytest.mark.parametrize("dtype", ["f4", "f8", "i2", "bool", "c8", "c16", "u1", "f2"])
@pytest.mark.parametrize("shape", [(64, 80), (33, 70), (8, 100), (257, 300)])
def test_tiles(shape, dtype):
    x, y = sample(*shape, dtype=dtype), sample(*shape[::-1], dtype=dtype)
    join = ew.bitwise_xor if dtype == "bool" else ew.add
    want = x.T ^ y if dtype == "bool" else x.T + y
    fun = lambda a, b: join(sh.transpose(a, (1, 0)), b)
    check(fun, [x, y], want, tol=1e-2 if dtype == "f2" else 1e-5)


def test_tiles_with_outer_axes_and_long_bodies():
    x, row = sample(5, 40, 36), sample(36)

    def fun(a, b):
        t = sh.transpose(a, (0, 2, 1))
        for _ in range(6):
            t = ew.add(ew.mul(t, 0.5), sh.broadcast_in_dim(b, (5, 36, 40), (1,)))
        return t

    want = x.transpose(0, 2, 1).astype("f8")
    for _ in range(6):
        want = want * 0.5 + row[:, None]
    check(fun, [x, row], want.astype("f4"), tol=1e-5)
    check(lambda a: sh.transpose(a, (2, 0, 1)), [x], x.transpose(2, 0, 1))
    check(lambda a: sh.transpose(a, (2, 1, 0)), [x], x.transpose(2, 1, 0))
