"""Fusion: programs of many operations give the bits of one operation at a time.

Also how plans look for programs whose fusion matters, as text.
"""

import numpy as np
from compiling import checked, compiled, execute, jaxpr_of
from generated import strategies
from generated.properties import property_of
from generated.scope import Style
from generated.steps import STRAIGHT
from hypothesis import assume
from support import assert_bits

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.core.jaxpr import Literal
from tetrad._src.ops import elementwise as ew
from tetrad._src.ops import index, reduce, slices
from tetrad._src.ops import shape as sh

STYLE = Style(flows=False, random=False)


@property_of(strategies.programs(STYLE, STRAIGHT, x64=False), 40)
def test_random_programs(program):
    """Scalars by value or not, outputs that take over operands: the same bits."""
    f = program.load(jax)
    numbers = program.numbers(0)
    jaxpr = jaxpr_of(lambda *xs: list(f(*xs)), numbers)
    # The runtime makes arrays in a program arguments of it.
    assume(
        all(a.aval.size == 1 for e in jaxpr.eqns for a in e.ins if type(a) is Literal)
    )
    by_value = tuple(n.ndim == 0 and k % 2 == 0 for k, n in enumerate(numbers))
    compiled = checked(jaxpr, by_value)
    # A matrix product reads views where they are, and BLAS rounds by layout.
    want = program.load(jax, jax.block_until_ready)(*map(jnp.asarray, numbers))
    for takeovers in (None, compiled.donors):
        outs = execute(compiled, numbers, takeovers)
        for got, expected in zip(outs, want, strict=True):
            if program.exact:
                assert_bits(got, expected)
            else:
                np.testing.assert_allclose(got, expected, rtol=1e-3, atol=1e-3)


def plan(fun, *shapes):
    args = [np.zeros(shape, "f4") for shape in shapes]
    return compiled(fun, args).text("plan")


def test_plan_of_a_sum_of_squares():
    assert (
        plan(lambda x: sh.reduce_sum(ew.mul(x, x), (0, 1)), (300, 400))
        == """\
v0: f32[300,400]
kernel [300, 400]
  %0 = read v0 at 0 [400, 1]
  %1 = mul %0 %0
  v1 = reduce_sum[axes=(0, 1)] %1
return v1"""
    )


def standardise(a):
    shape, n = a.aval.shape, float(a.aval.shape[0])
    mean = ew.div(sh.reduce_sum(a, (0,)), n)
    d = ew.sub(a, sh.broadcast_in_dim(mean, shape, (1,)))
    var = ew.div(sh.reduce_sum(ew.mul(d, d), (0,)), n)
    return ew.div(d, sh.broadcast_in_dim(ew.sqrt(var), shape, (1,)))


def test_plan_of_standardise():
    """What is cheap is computed again: the difference is never stored."""
    assert (
        plan(standardise, (200, 300))
        == """\
v0: f32[200,300]
kernel [200, 300]
  %0 = read v0 at 0 [300, 1]
  v1 = reduce_sum[axes=(0,)] %0
kernel [300]
  %0 = read v1 at 0 [1]
  %1 = scalar 200.0
  %2 = div %0 %1
  v2 dense = %2
kernel [200, 300]
  %0 = read v0 at 0 [300, 1]
  %1 = read v2 at 0 [0, 1]
  %2 = sub %0 %1
  %3 = mul %2 %2
  v3 = reduce_sum[axes=(0,)] %3
kernel [300]
  %0 = read v3 at 0 [1]
  %1 = scalar 200.0
  %2 = div %0 %1
  %3 = sqrt %2
  v4 dense = %3
kernel [200, 300]
  %0 = read v0 at 0 [300, 1]
  %1 = read v2 at 0 [0, 1]
  %2 = sub %0 %1
  %3 = read v4 at 0 [0, 1]
  %4 = div %2 %3
  v5 dense = %4
return v5"""
    )


def softmax(a):
    shape = a.aval.shape
    top = sh.broadcast_in_dim(reduce.reduce_max(a, (1,)), shape, (0,))
    e = ew.exp(ew.sub(a, top))
    return ew.div(e, sh.broadcast_in_dim(sh.reduce_sum(e, (1,)), shape, (0,)))


def test_plan_of_softmax():
    """What is dear is computed once: the exponentials are stored while summed.

    All kernels visit a row before the next one, which stays in the caches.
    """
    assert (
        plan(softmax, (200, 300))
        == """\
v0: f32[200,300]
band of 200 rows, 300 elements each
  kernel [200, 300]
    %0 = read v0 at 0 [300, 1]
    v1 = reduce_max[axes=(1,)] %0
  kernel [200, 300]
    %0 = read v0 at 0 [300, 1]
    %1 = read v1 at 0 [1, 0]
    %2 = sub %0 %1
    %3 = exp %2
    v2 dense = %3
    v3 = reduce_sum[axes=(1,)] %3
  kernel [200, 300]
    %0 = read v2 at 0 [300, 1]
    %1 = read v3 at 0 [1, 0]
    %2 = div %0 %1
    v4 dense = %2
return v4"""
    )


def test_plan_of_views():
    """Index maps cost nothing: they are strides of reads and writes."""

    def fun(x):
        turned = sh.transpose(ew.neg(x), (1, 0))
        return slices.concatenate([turned, sh.rev(turned, (0,))], 1)

    assert (
        plan(fun, (3, 4))
        == """\
v0: f32[3,4]
kernel [4, 3]
  %0 = read v0 at 0 [1, 4]
  %1 = neg %0
  %2 = read v0 at 3 [-1, 4]
  %3 = neg %2
  v1 at 0 [6, 1] = %1
  v1 at 3 [6, 1] = %3
return v1"""
    )


def test_plan_of_a_loop_turn_in_place():
    def fun(x, i):
        new = ew.mul(index.dynamic_slice_in_dim(x, i, 1), 2.0)
        return index.dynamic_update_slice_in_dim(x, new, i, 0)

    program = compiled(fun, [np.zeros((8, 4), "f4"), np.int32(0)], [False, True])
    assert program.donors == (0,)


def test_one_kernel_for_values_of_one_space():
    def fun(x, y):
        s = ew.add(x, y)
        return [s, ew.mul(s, x), sh.reduce_sum(s, (1,))]

    text = plan(fun, (20, 30), (20, 30))
    assert text.count("kernel") == 1


def test_kernels_made_by_hand_read_the_memory_that_they_can_read():
    # `turned` is stored for the gather; the sort must look through it at exp(u).
    u = np.random.default_rng(0).normal(size=(5, 7)).astype("f4")

    def f(u):
        turned = jnp.exp(u).T
        places = jnp.argmax(turned, axis=0)
        largest = jnp.take_along_axis(turned, places[None], 0)
        return jnp.sort(turned.T, axis=1), largest

    ordered, largest = f(jnp.array(u))
    expected = np.asarray(jnp.exp(u))
    np.testing.assert_array_equal(ordered, np.sort(expected, axis=1))
    np.testing.assert_array_equal(largest[0], expected.max(axis=1))
