"""jnp.vectorize against NumPy's."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp


@pytest.mark.parametrize(
    "shapes",
    [
        ((), ()),
        ((3,), ()),
        ((2, 1), (3,)),
        ((1,), (4,)),
        ((2, 3), (2, 3)),
        ((1,), (1,)),
    ],
)
def test_scalars_broadcast(shapes):
    a, b = (np.random.default_rng(i).random(s, "f") for i, s in enumerate(shapes))
    got = jnp.vectorize(lambda x, y: x * 2 + y)(a, b)
    np.testing.assert_allclose(got, a * 2 + b, rtol=1e-6)


@pytest.mark.parametrize(
    "a, b", [((4, 3), (3,)), ((3,), (3,)), ((2, 1, 3), (5, 3)), ((1, 3), (1, 1, 3))]
)
def test_core_axes(a, b):
    x, y = (np.random.default_rng(i).random(s, "f") for i, s in enumerate((a, b)))
    dot = jnp.vectorize(lambda u, v: u @ v, signature="(n),(n)->()")
    np.testing.assert_allclose(dot(x, y), (x * y).sum(-1), rtol=1e-5)


def test_several_results_excluded_and_keywords():
    fun = jnp.vectorize(
        lambda x, mode, scale=1.0: (x.sum() * scale, x * 2),
        signature="(n)->(),(n)",
        excluded={1, "scale"},
    )
    total, double = fun(jnp.ones((2, 3)), "any", scale=2.0)
    np.testing.assert_array_equal(total, [6, 6])
    assert double.shape == (2, 3)
    grad = jax.grad(lambda x: jnp.vectorize(jnp.sin)(x).sum())(jnp.ones(3))
    np.testing.assert_allclose(grad, np.cos(np.ones(3)), rtol=1e-6)


@pytest.mark.parametrize(
    "signature, shapes, error",
    [
        ("(n),(n)->()", ((2,), (3,)), ValueError),
        ("(n,m),(m)->()", ((2,), (2,)), ValueError),
        ("n->n", ((2,), (2,)), ValueError),
        ("(n)->()", ((2,), (2,)), TypeError),
        ("(n),(n)->(n)", ((2,), (2,)), ValueError),
        (None, ((2,), (3,)), ValueError),
    ],
)
def test_wrong_signatures(signature, shapes, error):
    with pytest.raises(error, match="jnp.vectorize"):
        jnp.vectorize(lambda a, b: (a * b).sum(), signature=signature)(
            *[jnp.ones(s) for s in shapes]
        )
