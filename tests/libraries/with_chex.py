"""chex: assertions, dataclasses, variants, tests of tracing, warpings of pytrees."""

import functools

import chex
import jax
import jax.numpy as jnp
import numpy as np


def refused(fun, *args, **kwargs):
    """The kind of the error, or "passed"."""
    try:
        fun(*args, **kwargs)
    except Exception as error:
        return type(error).__name__
    return "passed"


X, Y = jnp.ones((2, 3)), jnp.zeros((2, 3), jnp.int32)


def assertions():
    calls = {
        "shape": (chex.assert_shape, X, (2, 3)),
        "shape_any": (chex.assert_shape, [X, Y], (2, None)),
        "shape_wrong": (chex.assert_shape, X, (3, 2)),
        "equal_shape": (chex.assert_equal_shape, [X, Y]),
        "equal_shape_wrong": (chex.assert_equal_shape, [X, X.T]),
        "prefix": (chex.assert_equal_shape_prefix, [X, X[:, 0]], 1),
        "suffix": (chex.assert_equal_shape_suffix, [X, X[0]], 1),
        "rank": (chex.assert_rank, [X, X[0]], [2, {0, 1}]),
        "rank_wrong": (chex.assert_rank, X, 1),
        "type": (chex.assert_type, [X, Y], [float, int]),
        "type_wrong": (chex.assert_type, X, int),
        "dims": (chex.assert_axis_dimension, X, 1, 3),
        "gt": (chex.assert_axis_dimension_gt, X, 1, 3),
        "size": (chex.assert_size, X, 6),
        "scalar": (chex.assert_scalar, X),
        "scalar_in": (chex.assert_scalar_in, 0.5, 0, 1),
        "broadcastable": (chex.assert_is_broadcastable, (3,), (2, 3)),
        "divisible": (chex.assert_is_divisible, 6, 4),
        "finite": (chex.assert_tree_all_finite, {"a": X}),
        "nan": (chex.assert_tree_all_finite, {"a": X * jnp.nan}),
        "close": (chex.assert_trees_all_close, {"a": X}, {"a": X + 1e-9}),
        "far": (chex.assert_trees_all_close, {"a": X}, {"a": X + 1}),
        "equal": (chex.assert_trees_all_equal, [X], [X]),
        "dtypes": (chex.assert_trees_all_equal_dtypes, [X], [Y]),
        "shapes": (chex.assert_trees_all_equal_shapes, [X], [Y]),
        "both": (chex.assert_trees_all_equal_shapes_and_dtypes, [X], [Y]),
        "structs": (chex.assert_trees_all_equal_structs, [X], [Y, Y]),
        "leading": (chex.assert_tree_shape_prefix, {"a": X}, (2,)),
        "suffixes": (chex.assert_tree_shape_suffix, {"a": X}, (3,)),
        "has_only": (chex.assert_tree_has_only_ndarrays, [X, np.ones(2)]),
        "only_wrong": (chex.assert_tree_has_only_ndarrays, [X, "a"]),
        "no_nones": (chex.assert_tree_no_nones, [X, None]),
        "devices": (chex.assert_devices_available, 1, "cpu"),
        "on_device": (chex.assert_tree_is_on_device, [X]),
        "on_host": (chex.assert_tree_is_on_host, [np.ones(3)]),
        "numerical": (
            functools.partial(chex.assert_numerical_grads, order=2),
            lambda x: jnp.sum(jnp.sin(x)),
            (X,),
        ),
        "wrong_grads": (
            functools.partial(chex.assert_numerical_grads, order=1),
            jax.custom_jvp(lambda x: x),
            (X,),
        ),
        "ulp": (chex.assert_trees_all_close_ulp, [X], [X * (1 + 1e-7)]),
    }
    return {name: refused(*call) for name, call in calls.items()}


def traced():
    """Assertions about shapes work on tracers; those about values say so."""

    @jax.jit
    def good(x):
        chex.assert_shape(x, (2, 3))
        chex.assert_type(x, float)
        return x * 2

    @jax.jit
    def bad(x):
        chex.assert_trees_all_close(x, x)
        return x

    return [good(X), refused(bad, X)]


def retraces():
    fun = jax.jit(chex.assert_max_traces(lambda x: x + 1, n=2))
    found = [refused(fun, jnp.ones(n)) for n in (1, 2, 2, 1)]
    chex.clear_trace_counter()
    return [*found, refused(fun, jnp.ones(5))]


def chexified():
    @chex.chexify
    @jax.jit
    def log(x):
        chex.assert_tree_all_finite(jnp.log(x))
        return jnp.log(x)

    def wrong():
        log(jnp.asarray([0.0]))
        chex.block_until_chexify_assertions_complete()

    return [log(X), refused(wrong)]


def dataclasses():
    @chex.dataclass
    class State:
        w: chex.Array
        n: int = 0

    @chex.dataclass(frozen=True, mappable_dataclass=False)
    class Frozen:
        w: chex.Array

    s = State(w=X, n=2)
    doubled = jax.tree.map(lambda x: x * 2, s)
    grads = jax.grad(lambda s: jnp.sum(s.w**3))(Frozen(w=X))
    paths = jax.tree_util.tree_flatten_with_path(s)[0]
    return {
        "doubled": doubled.w,
        "n": doubled.n,
        "jit": jax.jit(lambda s: s.replace(w=s.w + 1))(s).w,
        "grads": grads.w,
        "tuple": s.to_tuple(),
        "keys": sorted(s.keys()),
        "from_tuple": State.from_tuple((1, 2)).n,
        "frozen": refused(setattr, Frozen(w=1), "w", 2),
        "positional": refused(State, X, 2),
        "paths": sorted(jax.tree_util.keystr(path) for path, _ in paths),
        "vmap": jax.vmap(lambda f: f.w.sum())(Frozen(w=X)),
    }


class Doubles(chex.TestCase):
    @chex.variants(
        with_jit=True, without_jit=True, with_device=True, without_device=True
    )
    def test_double(self):
        double = self.variant(lambda x: 2 * x)
        self.assertEqual(float(double(jnp.asarray(3.0))), 6.0)

    @chex.all_variants(with_pmap=False)
    def test_static(self):
        power = self.variant(lambda x, n: x**n, static_argnums=1)
        self.assertEqual(float(power(jnp.asarray(3.0), 2)), 9.0)


def variants():
    import unittest

    suite = unittest.defaultTestLoader.loadTestsFromTestCase(Doubles)
    result = unittest.TestResult()
    suite.run(result)
    problems = [text for _, text in result.failures + result.errors]
    return {"ran": result.testsRun, "problems": problems}


def fakes():
    calls = []

    def fun(x):
        calls.append(1)
        return x + 1

    with chex.fake_jit():
        for _ in range(3):
            jax.jit(fun)(1.0)
    with chex.fake_pmap_and_jit():
        mapped = jax.pmap(lambda x: x / jax.lax.psum(x, "i"), axis_name="i")(
            jnp.ones(4)
        )
    return [len(calls), mapped]


def warpings():
    tree = {"a": jnp.ones((3, 4)), "b": jnp.arange(12).reshape(3, 4)}
    restricted = refused(lambda: chex.Dimensions(B=3, N=4)["BN"])
    dims = chex.Dimensions(B=3, N=4)
    return [dims["BN"], dims["B*"], restricted, jax.tree.map(jnp.shape, tree)]


def types():
    return [
        isinstance(X, chex.Array),
        isinstance(np.ones(3), chex.Array),
        isinstance(X, chex.ArrayDevice),
        isinstance(np.ones(3), chex.ArrayNumpy),
        isinstance(jax.random.PRNGKey(0), chex.PRNGKey),
    ]


CASES = {
    "assertions": assertions,
    "traced": traced,
    "retraces": retraces,
    "chexified": chexified,
    "dataclasses": dataclasses,
    "variants": variants,
    "fakes": fakes,
    "warpings": warpings,
    "types": types,
}
