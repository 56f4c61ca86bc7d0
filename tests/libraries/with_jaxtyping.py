"""jaxtyping: annotations of shapes and dtypes, checked by beartype and typeguard."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
from beartype import beartype
from jaxtyping import (
    Array,
    ArrayLike,
    Bool,
    Complex,
    Float,
    Float32,
    Inexact,
    Int,
    Integer,
    Key,
    Num,
    PRNGKeyArray,
    PyTree,
    Real,
    Scalar,
    Shaped,
    UInt8,
    jaxtyped,
)
from typeguard import typechecked


def refused(fun, *args):
    """The type of the error, or what came out."""
    try:
        return fun(*args)
    except TypeError:
        return "TypeError"  # of a product of what does not fit, in tetrad also a ValueError
    except Exception as error:
        return type(error).__name__


def instances():
    x = jnp.ones((3, 4))
    kinds = {
        "float": Float[Array, "3 4"],
        "float_any": Float[Array, "..."],
        "float32": Float32[Array, "a b"],
        "wrong": Float[Array, "4 3"],
        "int": Int[Array, "3 4"],
        "integer": Integer[Array, "3 4"],
        "bool": Bool[Array, "3 4"],
        "complex": Complex[Array, "3 4"],
        "inexact": Inexact[Array, "3 4"],
        "num": Num[Array, "3 4"],
        "real": Real[Array, "_ _"],
        "uint8": UInt8[Array, "3 4"],
        "shaped": Shaped[Array, "*rest"],
        "broadcast": Float[Array, "#3 4"],
        "sum": Float[Array, "2+1 4"],
        "scalar": Scalar,
        "numpy": Float[np.ndarray, "3 4"],
        "array_like": Float[ArrayLike, "3 4"],
        "tree": PyTree[Float[Array, "3 4"]],
    }
    found = {name: isinstance(x, kind) for name, kind in kinds.items()}
    found["half"] = isinstance(x.astype(jnp.bfloat16), Float[Array, "3 4"])
    found["small"] = isinstance(x.astype(jnp.uint8), UInt8[Array, "3 4"])
    found["tracer"] = jax.eval_shape(
        lambda x: (found.update(inside=isinstance(x, Float[Array, "3 4"])), x)[1], x
    ).shape
    found["key"] = isinstance(jax.random.key(0), Key[Array, ""])
    found["prng"] = isinstance(jax.random.key(0), PRNGKeyArray)
    found["prng_old"] = isinstance(jax.random.PRNGKey(0), PRNGKeyArray)
    found["struct"] = isinstance(
        jax.ShapeDtypeStruct((3,), jnp.float32), Float[jax.ShapeDtypeStruct, "3"]
    )
    return found


N = Float[Array, "n"]
LEFT = Float[Array, "rows inner"]
RIGHT = Float[Array, "inner columns"]
BOTH = Float[Array, "rows columns"]
TREE = PyTree[Float[Array, "?n"], "T"]


def checked(checker):
    def case():
        @jaxtyped(typechecker=checker)
        def product(x: LEFT, y: RIGHT) -> BOTH:
            return x @ y

        @jaxtyped(typechecker=checker)
        def wrong(x: N) -> N:
            return jnp.concatenate([x, x])

        a, b = jnp.ones((2, 3)), jnp.ones((3, 4))
        return [
            product(a, b),
            jax.jit(product)(a, b),
            jax.grad(lambda a: product(a, b).sum())(a),
            jax.vmap(product, (0, None))(jnp.ones((5, 2, 3)), b),
            refused(product, a, a),
            refused(jax.jit(product), a, a),
            refused(product, a.astype(int), b),
            refused(wrong, jnp.ones(3)),
        ]

    return case


def dataclass():
    @jaxtyped(typechecker=beartype)
    @dataclasses.dataclass
    class Batch:
        images: Float[Array, "batch size size"]  # noqa: F722
        labels: Int[Array, "batch"]  # noqa: F821

    Batch(jnp.ones((2, 3, 3)), jnp.zeros(2, int))
    return refused(Batch, jnp.ones((2, 3, 3)), jnp.zeros(3, int))


def trees():
    @jaxtyped(typechecker=beartype)
    def add(x: TREE, y: TREE):
        return jax.tree.map(jnp.add, x, y)

    a, b = {"a": jnp.ones(2), "b": jnp.ones(3)}, {"a": jnp.ones(2)}
    return [add(a, a), refused(add, a, b)]


def context():
    with jaxtyped("context"):
        one = isinstance(jnp.ones((3, 4)), Float[Array, "a b"])
        two = isinstance(jnp.ones((4, 4)), Float[Array, "a b"])
    return one, two


CASES = {
    "instances": instances,
    "beartype": checked(beartype),
    "typeguard": checked(typechecked),
    "dataclass": dataclass,
    "trees": trees,
    "context": context,
}
