"""Calls of `jax.random` whose results JAX has written down in data/random_vectors.npz.

Here is what to draw; `tools/random_vectors.py` draws it with JAX and keeps the results,
`test_random_vectors.py` draws it again. Lists stand for arrays.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

N = (40,)
ROWS = [[0.0, 1.0, 2.0], [0.5, -1.0, 0.0]]
P = [0.1, 0.2, 0.3, 0.4]
COV = [[2.0, 1.0, 0.5], [1.0, 2.0, 0.3], [0.5, 0.3, 1.0]]


class Case(NamedTuple):
    """`jax.random.function(key, *args, **kwargs)`."""

    function: str
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}
    x64: bool = False
    impl: str = "threefry2x32"
    partitionable: bool = True

    @property
    def name(self) -> str:
        parts = [self.function, *map(str, self.args)]
        parts += [f"{k}={v}" for k, v in self.kwargs.items()]
        parts += ["x64"] * self.x64
        parts += [self.impl] * (self.impl != "threefry2x32")
        parts += ["unpartitionable"] * (not self.partitionable)
        return " ".join(parts).replace("/", "|")

    def draw(self, jax: Any, seed: int = 7) -> Any:
        """The words or numbers that the library `jax` gives, as a NumPy array."""
        before = jax.config.jax_enable_x64, jax.config.jax_threefry_partitionable
        jax.config.update("jax_enable_x64", self.x64)
        jax.config.update("jax_threefry_partitionable", self.partitionable)
        try:
            return self._draw(jax, seed)
        finally:
            jax.config.update("jax_enable_x64", before[0])
            jax.config.update("jax_threefry_partitionable", before[1])

    def _draw(self, jax: Any, seed: int) -> Any:
        key = jax.random.key(seed, impl=self.impl)
        args = [array(jax, x) for x in self.args]
        kwargs = {k: array(jax, x) for k, x in self.kwargs.items()}
        drawn = getattr(jax.random, self.function)(key, *args, **kwargs)
        if jax.dtypes.issubdtype(drawn.dtype, jax.dtypes.prng_key):
            drawn = jax.random.key_data(drawn)
        drawn = np.asarray(drawn)
        return drawn.astype(np.float32) if drawn.dtype == "bfloat16" else drawn


def array(jax: Any, x: Any) -> Any:
    return jax.numpy.asarray(np.asarray(x)) if isinstance(x, list) else x


def case(function: str, *args: Any, x64: bool = False, **kwargs: Any) -> Case:
    return Case(function, args, kwargs, x64)


PLAIN = ("uniform", "normal", "exponential", "gumbel", "laplace", "logistic", "cauchy")
DTYPES = ("float32", "float16", "bfloat16")

CASES = [
    *[case(name, N, dtype) for name in PLAIN for dtype in DTYPES],
    *[case(name, N, "float64", x64=True) for name in (*PLAIN, "maxwell")],
    case("normal", N, "complex64"),
    case("maxwell", N),
    case("rademacher", N),
    case("split", 5),
    case("split", (2, 3)),
    case("fold_in", 12345),
    *[case("bits", N, f"uint{width}") for width in (8, 16, 32)],
    case("bits", N, "uint64", x64=True),
    *[case("randint", N, *limits) for limits in (
        (0, 10, "int32"), (-128, 128, "int8"), (0, 256, "uint8"), (-5, 7, "int16"),
        (0, 65536, "uint16"), (-2147483648, 2147483647, "int32"), (3, 3, "int32"))],
    case("randint", N, -(2**63), 2**63 - 1, "int64", x64=True),
    case("uniform", N, "float32", -2.0, 3.0),
    case("bernoulli", 0.3, N),
    case("bernoulli", 0.3, N, mode="high"),
    case("gumbel", N, mode="high"),
    case("gumbel", N, mode="highest"),
    case("truncated_normal", -1.0, 2.0, N),
    case("truncated_normal", 2.0, 3.0, N),
    *[case(name, a, N) for name in ("gamma", "loggamma", "chisquare", "t")
      for a in (0.3, 2.5, 100.0)],
    case("gamma", 2.5, N, "float64", x64=True),
    case("loggamma", 1e-3, N),
    case("gamma", [0.1, 1.0, 10.0], (4, 3)),
    case("beta", 0.5, 2.0, N),
    case("dirichlet", [0.5, 1.0, 3.0], (8,)),
    case("f", 3.0, 5.0, N),
    case("generalized_normal", 1.5, N),
    case("ball", 3, 2, (8,)),
    case("ball", 2, 1.5, (8,)),
    case("pareto", 1.7, N),
    case("rayleigh", 1.7, N),
    case("lognormal", 0.5, N),
    case("wald", 1.7, N),
    case("triangular", 0.0, 1.0, 3.0, N),
    case("weibull_min", 2.0, 1.5, N),
    case("double_sided_maxwell", 1.0, 2.0, N),
    *[case("poisson", lam, N) for lam in (0.1, 3.0, 9.9, 10.0, 50.0)],
    *[case("binomial", n, p, N) for n, p in (
        (10, 0.3), (10, 0.7), (100, 0.5), (1000, 0.01), (5, 1.0))],
    case("binomial", 1000, 0.3, N, "float64", x64=True),
    case("geometric", 0.3, N),
    case("multinomial", 20, P, shape=(10, 4)),
    case("categorical", ROWS),
    case("categorical", ROWS, shape=(20, 2)),
    case("categorical", ROWS, 0, shape=(20, 3)),
    case("categorical", ROWS, mode="high"),
    case("categorical", ROWS, shape=(2, 2), replace=False),
    case("permutation", 50),
    case("permutation", [[1, 2, 3], [4, 5, 6], [7, 8, 9]], 1),
    case("permutation", [[1, 2, 3], [4, 5, 6], [7, 8, 9]], 1, independent=True),
    case("choice", 10, (30,)),
    case("choice", 10, (7,), False),
    case("choice", [1.0, 2.0, 3.0, 4.0], (30,), p=P),
    case("choice", 4, (3,), False, p=P),
    case("choice", [[1, 2, 3], [4, 5, 6]], (2, 2), axis=1),
    case("multivariate_normal", [1.0, 2.0, 3.0], COV, (6,)),
    case("orthogonal", 3, (2,)),
    case("orthogonal", 2, m=4),
    *[Case(function, args, impl=impl) for impl in ("rbg", "unsafe_rbg") for function, args
      in (("split", (5,)), ("fold_in", (12345,)), ("bits", (N, "uint32")),
          ("bits", ((9,), "uint8")), ("bits", ((9,), "uint16")), ("uniform", (N,)),
          ("normal", (N,)), ("permutation", (20,)), ("randint", (N, 0, 10)))],
    Case("bits", ((9,), "uint64"), x64=True, impl="rbg"),
    *[Case(function, args, partitionable=False) for function, args
      in (("split", (5,)), ("split", ((2, 3),)), ("fold_in", (12345,)),
          ("bits", ((7,), "uint32")), ("bits", ((2, 4), "uint32")),
          ("bits", ((9,), "uint8")), ("bits", ((9,), "uint16")), ("gamma", (2.5, N)),
          ("normal", (N,)), ("permutation", (20,)))],
    Case("bits", ((7,), "uint64"), x64=True, partitionable=False),
]  # fmt: skip
