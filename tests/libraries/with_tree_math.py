"""tree_math: pytrees as vectors, functions wrapped for them, structs."""

import operator
from functools import partial

import jax
import jax.numpy as jnp
import tree_math as tm

A = {"x": 1, "y": jnp.array([2.0, 3.0])}
B = {"x": 4, "y": jnp.array([5.0, 6.0])}


def arithmetic():
    a, b = tm.Vector(A), tm.Vector(B)
    pairs = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lt", "eq"]
    found = {name: getattr(operator, name)(a, b) for name in pairs}
    return {
        **{name: value.tree for name, value in found.items()},
        "scalar": (2 * a - b / 3).tree,
        "neg": (-a).tree,
        "dot": a @ b,
        "size": len(a),
        "ravel": a.sum(),
        "max": b.max(),
        "min": b.min(),
        "mean": (a + b).mean(),
        "abs": abs(-a).tree,
        "conj": a.conj().tree,
    }


def functions():
    import tree_math.numpy as tnp

    a, b = tm.Vector(A), tm.Vector(B)
    return {
        "maximum": tnp.maximum(a, b).tree,
        "where": tnp.where(a < 2, a, b).tree,
        "minimum": tnp.minimum(a, b).tree,
        "square": tnp.square(b).tree,
        "ones": tnp.ones_like(b).tree,
        "dot": tnp.dot(a, b),
        "zeros": tnp.zeros_like(a).tree,
        "full": tnp.full_like(a, 7).tree,
    }


def conjugate_gradients():
    """A solver of vectors, wrapped to solve for a pytree."""

    @partial(tm.wrap, vector_argnames=["b", "x0"])
    def cg(A, b, x0, M=lambda x: x, maxiter=5, tol=1e-6, atol=0.0):
        atol2 = jnp.maximum(tol**2 * (b @ b), atol**2)

        def going_on(value):
            _, r, gamma, _, k = value
            return (r @ r > atol2) & (k < maxiter)

        def body(value):
            x, r, gamma, p, k = value
            Ap = A(p)
            alpha = gamma / (p.conj() @ Ap)
            x, r = x + alpha * p, r - alpha * Ap
            z = M(r)
            new = r.conj() @ z
            return x, r, new, z + (new / gamma) * p, k + 1

        r = b - A(x0)
        p = z = M(r)
        start = x0, r, r @ z, p, 0
        return jax.lax.while_loop(going_on, body, start)[0]

    A = tm.unwrap(lambda t: jax.tree.map(lambda leaf: 3.0 * leaf, t))
    b = {"u": jnp.arange(3.0), "v": jnp.asarray(2.0)}
    zeros = jax.tree.map(jnp.zeros_like, b)
    solve = lambda b: cg(A, b, zeros)
    return [solve(b), jax.jit(solve)(b)]


def structs():
    @tm.struct
    class Point:
        x: float | jax.Array
        y: float | jax.Array

    a, b = Point(1.0, jnp.ones(2)), Point(2.0, jnp.arange(2.0))
    total = a + 2 * b
    return [total.x, total.y, a @ b, jax.grad(lambda p: p @ p)(b).y]


def transformed():
    energy = lambda v: (v * v).sum()
    v = tm.Vector({"x": jnp.ones(2), "y": jnp.arange(3.0)})
    return [
        jax.grad(energy)(v).tree,
        jax.jit(energy)(v),
        jax.vmap(energy)(tm.Vector({"x": jnp.ones((4, 2)), "y": jnp.ones((4, 3))})),
    ]


CASES = {
    "arithmetic": arithmetic,
    "functions": functions,
    "conjugate_gradients": conjugate_gradients,
    "structs": structs,
    "transformed": transformed,
}
