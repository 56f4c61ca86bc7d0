"""Stand-ins for control flow, with the fields that the machine reads, and their oracle.

`check` compares what a program computes with Python that interprets the jaxpr.
"""

import numpy as np
from compiling import checked, ensure_base, execute

from tetrad._src.core.avals import Aval
from tetrad._src.core.jaxpr import Jaxpr, Literal
from tetrad._src.core.op import Flow, Kind, Op
from tetrad._src.core.stage import restage
from tetrad._src.ops import index
from tetrad._src.ops import shape as sh

RNG = np.random.default_rng(0)


class Branch(Op):
    branches: tuple[Jaxpr, ...]
    kind = Kind.CALL
    multiple = True
    flow = Flow.BRANCH

    def jaxprs(self):
        return self.branches

    def type(self, *avals):
        return self.branches[0].out_avals


class While(Op):
    cond: Jaxpr
    body: Jaxpr
    cond_nconsts: int
    body_nconsts: int
    kind = Kind.CALL
    multiple = True
    flow = Flow.WHILE

    def jaxprs(self):
        return (self.cond, self.body)

    def type(self, *avals):
        return self.body.out_avals


class Scan(Op):
    body: Jaxpr
    length: int
    reverse: bool
    num_consts: int
    num_carry: int
    kind = Kind.CALL
    multiple = True
    flow = Flow.SCAN

    def jaxprs(self):
        return (self.body,)

    def type(self, *avals):
        outs = self.body.out_avals
        ys = [Aval((self.length, *y.shape), y.dtype) for y in outs[self.num_carry :]]
        return (*outs[: self.num_carry], *ys)


# ---------------------------------------------------------------------- front ends


def aval(x):
    return x.aval if hasattr(x, "aval") else Aval(np.shape(x), np.asarray(x).dtype)


def jaxpr_of(fun, avals):
    def flat(*xs):
        out = fun(*xs)
        return list(out) if isinstance(out, (tuple, list)) else [out]

    return restage(flat, [a.strong() for a in avals])


def branch(number, branches, *args):
    jaxprs = [jaxpr_of(f, [aval(a) for a in args]) for f in branches]
    return Branch(tuple(jaxprs))(number, *args)


def while_loop(cond, body, init, cond_consts=(), body_consts=()):
    avals = [aval(x) for x in init]
    test = jaxpr_of(cond, [*[aval(c) for c in cond_consts], *avals])
    step = jaxpr_of(body, [*[aval(c) for c in body_consts], *avals])
    op = While(test, step, len(cond_consts), len(body_consts))
    return op(*cond_consts, *body_consts, *init)


def scan(body, init, xs=(), consts=(), length=None, reverse=False):
    length = aval(xs[0]).shape[0] if length is None else length
    avals = [aval(v) for v in (*consts, *init)]
    avals += [Aval(aval(x).shape[1:], aval(x).dtype) for x in xs]
    op = Scan(jaxpr_of(body, avals), length, reverse, len(consts), len(init))
    return op(*consts, *init, *xs)


def get(x, i):
    """x[i] along the leading axis."""
    return sh.reshape(index.dynamic_slice_in_dim(x, i, 1), aval(x).shape[1:])


def put(x, v, i):
    part = sh.reshape(v, (1, *aval(v).shape))
    return index.dynamic_update_slice_in_dim(x, part, i, 0)


# -------------------------------------------------------------------- interpretation


def interpret(jaxpr, args):
    """The outputs of a jaxpr; flows by Python, other operations compiled alone."""
    env = dict(zip(jaxpr.ins, args))
    read = lambda a: np.asarray(a.val, a.aval.dtype) if type(a) is Literal else env[a]
    for eqn in jaxpr.eqns:
        env.update(zip(eqn.outs, interpret_op(eqn, [read(a) for a in eqn.ins])))
    return [read(a) for a in jaxpr.outs]


def interpret_op(eqn, args):
    op = eqn.op
    if op.flow is Flow.BRANCH:
        return interpret(op.branches[int(args[0])], args[1:])
    if op.flow is Flow.WHILE:
        first, count = op.cond_nconsts, op.cond_nconsts + op.body_nconsts
        carry = args[count:]
        while interpret(op.cond, [*args[:first], *carry])[0]:
            carry = interpret(op.body, [*args[first:count], *carry])
        return carry
    if op.flow is Flow.SCAN:
        split = op.num_consts + op.num_carry
        consts, carry, xs = (
            args[: op.num_consts],
            args[op.num_consts : split],
            args[split:],
        )
        turns = range(op.length)
        rows = []
        for i in reversed(turns) if op.reverse else turns:
            outs = interpret(op.body, [*consts, *carry, *[x[i] for x in xs]])
            carry = outs[: op.num_carry]
            rows.append(outs[op.num_carry :])
        rows = rows[::-1] if op.reverse else rows
        ys = [
            np.stack([row[k] for row in rows])
            if rows
            else np.zeros(v.aval.shape, v.aval.dtype)
            for k, v in enumerate(eqn.outs[op.num_carry :])
        ]
        return [*carry, *ys]
    alone = jaxpr_of(op, [a.aval for a in eqn.ins])
    outs = execute(checked(alone, (False,) * len(args)), args)
    return [np.array(x) for x in outs]


def program(fun, args, by_value=None):
    ensure_base()
    jaxpr = jaxpr_of(fun, [aval(a) for a in args])
    by_value = by_value or [False] * len(args)
    return jaxpr, checked(jaxpr, tuple(map(bool, by_value)))


def check(fun, *args, by_value=None, tol=1e-6):
    args = [np.asarray(a) for a in args]
    jaxpr, compiled = program(fun, args, by_value)
    want = interpret(jaxpr, args)
    for _ in range(2):
        for got, expected in zip(execute(compiled, args), want, strict=True):
            assert got.shape == expected.shape and got.dtype == expected.dtype
            np.testing.assert_allclose(got, expected, rtol=tol, atol=tol)
    return compiled


def f4(*shape):
    return RNG.standard_normal(shape).astype("f4")


I0 = np.int32(0)
