"""Branches and loops of lax."""

import numpy as np

from catalogue.row import Arg, Bad, Row, mask, real, whole

F32 = np.zeros(3, np.float32)
DTYPES = ("float32", "float64", "int32")
NO_REVERSE = "values jit vmap backend oracle"  # the number of turns is not known
ULP = {"float32": 16, "float64": 16}  # several rounded operations
# XLA may contract products and sums, and a loop of its own rounds like another program.
LOOP = {"dtypes": DTYPES, "ulp": ULP, "bits": False, "absolute": {"float32": 1e-6}}


def row(name, reference, args, call, **more):
    return Row(f"lax.{name}", reference, args, call=call, **{**LOOP, **more})


def recurrence(x, xs):
    """c ← c / 2 + x along the first axis, with the products c · x."""
    carry, outs = x, []
    for item in xs:
        carry = carry / 2 + item
        outs.append(carry * item)
    return carry, np.stack(outs)


def backwards(x, xs):
    carry, outs = recurrence(x, xs[::-1])
    return carry, outs[::-1]


def scan(jax, x, xs, **options):
    def body(carry, item):
        carry = carry / 2 + item
        return carry, carry * item

    return jax.lax.scan(body, x, xs, **options)


def turns(x, y, count):
    for i in range(int(count)):
        x = x * y + x.dtype.type(i)
    return x


def fori(jax, x, y, count):
    return jax.lax.fori_loop(0, count, lambda i, c: c * y + i.astype(c.dtype), x)


def doubled(x):
    while x.sum() < 20:
        x = x * 2
    return x


def doubling(jax, x):
    return jax.lax.while_loop(lambda c: c.sum() < 20, lambda c: c * 2, x)


FLOATS = ("float32", "float64")
BRANCHES = [
    row("cond", lambda p, x, y: x * y if p else x - y, (mask(()), Arg(), Arg()),
        lambda jax, p, x, y: jax.lax.cond(
            p, lambda a, b: a * b, lambda a, b: a - b, x, y),
        errors=(Bad(TypeError, "bool|scalar|float32", (F32, lambda: 0, lambda: 1)),)),
    row("switch", lambda i, x, y: [x + y, x * y, x][np.clip(i, 0, 2)],
        (whole(-1, 3, ()), Arg(), Arg()),
        lambda jax, i, x, y: jax.lax.switch(
            i, [lambda a, b: a + b, lambda a, b: a * b, lambda a, b: a], x, y)),
]  # fmt: skip

LOOPS = [
    row("scan", recurrence, (Arg((3,)), Arg((4, 3))), scan, dtypes=FLOATS),
    row("scan", backwards, (Arg((3,)), Arg((4, 3))), id="backwards", dtypes=FLOATS,
        call=lambda jax, x, xs: scan(jax, x, xs, reverse=True)),
    row("scan", recurrence, (Arg((3,)), Arg((5, 3))), id="unrolled", dtypes=FLOATS,
        call=lambda jax, x, xs: scan(jax, x, xs, unroll=2)),
    row("scan", lambda x: x * 8, (Arg(),), id="without inputs",
        call=lambda jax, x: jax.lax.scan(lambda c, _: (c * 2, None), x, length=3)[0]),
    row("fori_loop", lambda x, y: turns(x, y, 3), (Arg(), Arg()),
        lambda jax, x, y: fori(jax, x, y, 3)),
    row("fori_loop", turns, (Arg(), Arg(), whole(0, 4, ())), fori, id="counted",
        tests=NO_REVERSE),
    row("while_loop", doubled, (real(1, 2, shape=(3,)),), doubling, tests=NO_REVERSE),
]  # fmt: skip

MAPS = [
    row("map", lambda x: np.stack([v * v.sum() for v in x]), (Arg((4, 3)),),
        lambda jax, x: jax.lax.map(lambda v: v * v.sum(), x)),
    row("map", lambda x: x * x, (Arg((5, 3)),), id="in batches",
        call=lambda jax, x: jax.lax.map(lambda v: v * v, x, batch_size=2)),
    row("associative_scan", lambda x: np.multiply.accumulate(x, 0, dtype=x.dtype),
        (real(0.5, 1.5, shape=(7, 3)),),
        lambda jax, x: jax.lax.associative_scan(jax.lax.mul, x)),
    row("associative_scan", lambda x: np.maximum.accumulate(x[:, ::-1], 1)[:, ::-1],
        (Arg((3, 6), distinct=True),), id="backwards",
        call=lambda jax, x: jax.lax.associative_scan(
            jax.lax.max, x, reverse=True, axis=1)),
]  # fmt: skip

ROWS = [*BRANCHES, *LOOPS, *MAPS]
