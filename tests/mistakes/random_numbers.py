"""Mistakes with distributions and keys."""

from __future__ import annotations

from mistakes.mistake import Mistake, mistake

MISTAKES: list[Mistake] = [
    mistake(
        "probabilities that do not sum to 1",
        """
key = random.key(0)
random.choice(key, 3, (5,), p=jnp.array([1.0, 2.0, 3.0]))
""",
        ValueError,
        "random.choice",
        "sum to 6",
        "p / p.sum()",
    ),
    mistake(
        "a negative probability",
        """
key = random.key(0)
random.choice(key, 3, p=jnp.array([1.5, -0.5, 0.0]))
""",
        ValueError,
        "p[1] = -0.5",
    ),
    mistake(
        "probabilities for another number of elements",
        """
key = random.key(0)
random.choice(key, jnp.arange(4), p=jnp.array([0.5, 0.5]))
""",
        ValueError,
        "(2,)",
        "(4,)",
    ),
    mistake(
        "more distinct draws than elements",
        """
key = random.key(0)
random.choice(key, 3, (5,), replace=False)
""",
        ValueError,
        "5 distinct elements from 3",
        "replace=True",
    ),
    mistake(
        "a shape that is no tuple",
        """
key = random.key(0)
random.choice(key, 3, 5)
""",
        TypeError,
        "shape=(5,)",
    ),
    mistake(
        "a negative shape",
        """
key = random.key(0)
random.gamma(key, 2.0, (3, -1))
""",
        ValueError,
        "random.gamma",
        "(3, -1)",
    ),
    mistake(
        "limits in the wrong order",
        """
key = random.key(0)
random.randint(key, (3,), 10, 5)
""",
        ValueError,
        "minval=10",
        "maxval=5",
    ),
    mistake(
        "uniform limits in the wrong order",
        """
key = random.key(0)
random.uniform(key, (3,), minval=1.0, maxval=-1.0)
""",
        ValueError,
        "minval=1.0",
        "maxval=-1.0",
    ),
    mistake(
        "integers of a floating-point type",
        """
key = random.key(0)
random.poisson(key, 3.0, (2,), dtype=jnp.float32)
""",
        ValueError,
        "random.poisson",
        "float32",
    ),
    mistake(
        "floating-point numbers of an integer type",
        """
key = random.key(0)
random.gamma(key, 3.0, (2,), dtype=jnp.int32)
""",
        ValueError,
        "random.gamma",
        "int32",
    ),
    mistake(
        "parameters that do not fit the shape",
        """
key = random.key(0)
concentration = jnp.ones(3)
random.gamma(key, concentration, (2,))
""",
        ValueError,
        "random.gamma",
        "(3,)",
        "(2,)",
    ),
    mistake(
        "parameters that do not fit together",
        """
key = random.key(0)
random.beta(key, jnp.ones(3), jnp.ones(2))
""",
        ValueError,
        "a of shape (3,)",
        "b of shape (2,)",
    ),
    mistake(
        "a covariance of another size",
        """
key = random.key(0)
random.multivariate_normal(key, jnp.zeros(2), jnp.eye(3))
""",
        ValueError,
        "(2,)",
        "(3, 3)",
    ),
    mistake(
        "an unknown method",
        """
key = random.key(0)
random.multivariate_normal(key, jnp.zeros(2), jnp.eye(2), method="qr")
""",
        ValueError,
        "'cholesky'",
        "'qr'",
    ),
    mistake(
        "an unknown mode",
        """
key = random.key(0)
random.bernoulli(key, 0.5, (2,), mode="fast")
""",
        ValueError,
        "'low' or 'high'",
        "'fast'",
    ),
    mistake(
        "a generator that does not exist",
        """
random.key(0, impl="mersenne")
""",
        ValueError,
        "'mersenne'",
        "'threefry2x32'",
    ),
    mistake(
        "words of another generator",
        """
random.wrap_key_data(jnp.zeros(4, jnp.uint32))
""",
        TypeError,
        "extent 2",
        "uint32[4]",
    ),
    mistake(
        "keys of two generators",
        """
fast, slow = random.key(0, impl="rbg"), random.key(0)
jnp.stack([fast, slow])
""",
        ValueError,
        "key<rbg>",
        "key<fry>",
    ),
    mistake(
        "a seed that is too large",
        """
random.key(2**64)
""",
        OverflowError,
        "64 bits",
        "18446744073709551616",
    ),
    mistake(
        "probabilities of a scalar concentration",
        """
key = random.key(0)
random.dirichlet(key, 1.0)
""",
        ValueError,
        "alpha must have at least one axis",
    ),
    mistake(
        "a permutation of a fraction",
        """
key = random.key(0)
random.permutation(key, 4.0)
""",
        TypeError,
        "random.permutation",
        "4.0",
    ),
    mistake(
        "uniform numbers of 4 bits",
        """
key = random.key(0)
random.uniform(key, (3,), jnp.float4_e2m1fn)
""",
        TypeError,
        "random.uniform(key, (3,), jnp.float4_e2m1fn)",
        "float4_e2m1fn",
        "draw float32 and convert",
    ),
]
