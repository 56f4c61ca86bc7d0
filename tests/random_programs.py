"""Random jaxprs, and their evaluation one equation at a time."""

import random

import numpy as np
from compiling import block, compiled, ensure_base, execute

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Jaxpr, Literal
from tetrad._src.core.stage import restage
from tetrad._src.cpu.compile import compile as compile_jaxpr
from tetrad._src.ops import contract, convert, index, reduce, scatter, slices
from tetrad._src.ops import elementwise as ew
from tetrad._src.ops import shape as sh

EXTENTS = (1, 2, 3, 5, 8, 16, 17, 33, 40)
F4, I4, B1 = np.dtype("f4"), np.dtype("i4"), np.dtype("bool")


class Generator:
    """Grows a program by applying random operations to random values."""

    def __init__(self, seed, values):
        self.rng = random.Random(seed)
        self.values = list(values)

    def pick(self, *dtypes, rank=None):
        fitting = [
            v
            for v in self.values
            if v.aval.dtype in dtypes and (rank is None or v.aval.ndim == rank)
        ]
        return self.rng.choice(fitting[-8:]) if fitting else None

    def like(self, x):
        fitting = [
            v
            for v in self.values
            if v.aval.shape == x.aval.shape and v.aval.dtype == x.aval.dtype
        ]
        return self.rng.choice(fitting)

    def step(self):
        rule = self.rng.choice(RULES)
        made = rule(self)
        if made is not None and 0 < made.aval.size < 60000:
            self.values.append(made)


def binary(g):
    x = g.pick(F4, I4)
    op = g.rng.choice((ew.add, ew.sub, ew.mul, ew.max, ew.min))
    y = g.like(x) if g.rng.random() < 0.8 else x.aval.dtype.type(g.rng.randint(-3, 3))
    return op(x, y)


def unary(g):
    x = g.pick(F4)
    return (
        None
        if x is None
        else g.rng.choice((ew.tanh, ew.neg, ew.sin, ew.abs, ew.logistic))(x)
    )


def choose(g):
    x = g.pick(F4, I4)
    y = g.like(x)
    return ew.select(ew.lt(x, y), y, ew.neg(x))


def with_scalar(g):
    x, s = g.pick(F4), g.pick(F4, rank=0)
    return None if x is None or s is None else ew.mul(x, s)


def cast(g):
    x = g.pick(F4, I4)
    return convert.convert_element_type(x, I4 if x.aval.dtype == F4 else F4)


def broadcast(g):
    x = g.pick(F4, I4)
    if x.aval.ndim > 2:
        return None
    shape = list(x.aval.shape)
    dims = list(range(len(shape)))
    at = g.rng.randint(0, len(shape))
    shape.insert(at, g.rng.choice(EXTENTS))
    dims = [d + (d >= at) for d in dims]
    return sh.broadcast_in_dim(x, tuple(shape), tuple(dims))


def transpose(g):
    x = g.pick(F4, I4)
    order = list(range(x.aval.ndim))
    g.rng.shuffle(order)
    return sh.transpose(x, tuple(order))


def reshape(g):
    x = g.pick(F4, I4)
    shape = list(x.aval.shape)
    if len(shape) > 1 and g.rng.random() < 0.6:
        at = g.rng.randrange(len(shape) - 1)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    else:
        for at, n in enumerate(shape):
            for part in (2, 3, 5):
                if n % part == 0 and n > part:
                    shape[at : at + 1] = [part, n // part]
                    return sh.reshape(x, tuple(shape))
        shape.insert(g.rng.randint(0, len(shape)), 1)
    return sh.reshape(x, tuple(shape))


def reverse(g):
    x = g.pick(F4, I4)
    return sh.rev(x, (g.rng.randrange(x.aval.ndim),)) if x.aval.ndim else None


def cut(g):
    x = g.pick(F4, I4)
    starts, limits, steps = [], [], []
    for n in x.aval.shape:
        a, b = sorted((g.rng.randint(0, n), g.rng.randint(0, n)))
        starts.append(a)
        limits.append(b)
        steps.append(g.rng.choice((1, 1, 2)))
    return slices.slice(x, tuple(starts), tuple(limits), tuple(steps))


def fold(g):
    x = g.pick(F4, I4)
    if not x.aval.ndim:
        return None
    count = g.rng.randint(1, x.aval.ndim)
    axes = tuple(sorted(g.rng.sample(range(x.aval.ndim), count)))
    return g.rng.choice((sh.reduce_sum, reduce.reduce_max, reduce.reduce_min))(x, axes)


def arg(g):
    x = g.pick(F4)
    if x is None or not x.aval.ndim:
        return None
    return reduce.argmax(x, g.rng.randrange(x.aval.ndim), np.int32)


def join(g):
    x = g.pick(F4, I4)
    if not x.aval.ndim:
        return None
    return slices.concatenate([x, g.like(x)], g.rng.randrange(x.aval.ndim))


def pad(g):
    x = g.pick(F4)
    if x is None:
        return None
    config = [
        (g.rng.randint(0, 2), g.rng.randint(0, 3), g.rng.randint(0, 1))
        for _ in x.aval.shape
    ]
    return slices.pad(x, np.float32(1.5), config)


def count(g):
    x = g.pick(F4, I4)
    if not x.aval.ndim:
        return None
    return sh.broadcasted_iota(x.aval.dtype, x.aval.shape, g.rng.randrange(x.aval.ndim))


def window(g):
    x, i = g.pick(F4, I4), g.pick(I4, rank=0)
    if i is None:
        return None
    sizes = [g.rng.randint(1, n) for n in x.aval.shape]
    starts = [g.rng.choice((i, np.int32(1))) for _ in sizes]
    return index.dynamic_slice(x, starts, sizes, allow_negative_indices=False)


def put(g):
    x, i = g.pick(F4, I4), g.pick(I4, rank=0)
    if i is None or not x.aval.ndim:
        return None
    sizes = [g.rng.randint(1, n) for n in x.aval.shape]
    new = slices.slice(g.like(x), (0,) * len(sizes), sizes)
    if g.rng.random() < 0.5:
        new = ew.neg(new)
    starts = [g.rng.choice((i, np.int32(1))) for _ in sizes]
    return index.dynamic_update_slice(x, new, starts, allow_negative_indices=False)


def spread(g):
    x = g.pick(F4, rank=1)
    where = g.pick(I4, rank=1)
    if x is None or where is None:
        return None
    n = where.aval.shape[0]
    at = scatter.ScatterDimensionNumbers((), (0,), (0,))
    new = convert.convert_element_type(where, F4)
    return scatter.scatter_add(x, sh.reshape(where, (n, 1)), new, at)


def product(g):
    x = g.pick(F4, rank=2)
    if x is None:
        return None
    y = sh.transpose(g.like(x), (1, 0)) if g.rng.random() < 0.5 else g.like(x)
    dims = ((1,), (0,)) if y.aval.shape[0] == x.aval.shape[1] else ((0,), (0,))
    return contract.dot_general(x, y, (dims, ((), ())))


RULES = (
    binary, binary, binary, unary, unary, choose, with_scalar, cast, broadcast,
    broadcast, transpose, reshape, reverse, cut, fold, fold, fold, arg, join, pad, count,
    window, put, put, spread, product,
)  # fmt: skip


def random_jaxpr(seed, steps=14):
    ensure_base()
    rng = random.Random(seed)
    shapes = [
        tuple(rng.choice(EXTENTS) for _ in range(rng.randint(0, 3))) for _ in range(2)
    ]
    avals = [Aval(s, F4) for s in shapes]
    avals += [Aval((), I4), Aval((), F4), Aval((rng.choice(EXTENTS),), I4)]

    def fun(*ins):
        g = Generator(seed, ins)
        for _ in range(steps):
            g.step()
        made = g.values[len(ins) :]
        outs = [v for v in made if g.rng.random() < 0.3] or made[-1:] or list(ins[:1])
        return [*outs, *made[-1:]]

    return restage(fun, avals)


def random_inputs(jaxpr, seed):
    rng = np.random.default_rng(seed)
    found = []
    for aval in jaxpr.in_avals:
        if aval.dtype == F4:
            found.append(rng.standard_normal(aval.shape).astype("f4"))
        else:
            found.append(rng.integers(-2, 6, aval.shape).astype("i4"))
    return found


def one_at_a_time(jaxpr, args):
    """Every equation as a program of its own."""
    env = dict(zip(jaxpr.ins, args))
    for eqn in jaxpr.eqns:
        ins = [v for v in dict.fromkeys(eqn.ins) if type(v) is not Literal]
        single = Jaxpr(ins, [eqn], eqn.outs)
        program = compile_jaxpr(single, (False,) * len(ins))
        env.update(zip(eqn.outs, execute(program, [env[v] for v in ins])))
    return [
        np.asarray(v.val, v.aval.dtype) if type(v) is Literal else env[v]
        for v in jaxpr.outs
    ]


__all__ = ["block", "compiled", "one_at_a_time", "random_inputs", "random_jaxpr"]
