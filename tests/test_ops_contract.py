"""Products: values, derivatives, batching, jaxprs without superfluous transposes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from numpy_machine_full import array_of, known, machine
from rules import check

from tetrad import lax
from tetrad._src.core.avals import Aval
from tetrad._src.core.op import Axis
from tetrad._src.core.stage import stage
from tetrad._src.core.text import jaxpr_text
from tetrad._src.transforms.linearize import linearize_flat
from tetrad._src.transforms.transpose import transpose_tape
from tetrad._src.transforms.vmap import vmap_flat
from tetrad._src.util.config import enable_x64


@pytest.fixture(autouse=True, params=["numpy", "cpu"])
def current_machine(request: Any) -> Iterator[None]:
    with enable_x64(True), machine(request.param):
        yield


rng = np.random.default_rng(2)
MATMUL = (((1,), (0,)), ((), ()))
CASES = [
    ((2, 3), (3, 4), MATMUL, "ik,kj->ij"),
    ((2, 3), (4, 3), (((1,), (1,)), ((), ())), "ik,jk->ij"),
    ((3, 2), (3, 4), (((0,), (0,)), ((), ())), "ki,kj->ij"),
    ((3,), (3,), (((0,), (0,)), ((), ())), "k,k->"),
    ((3,), (3, 2), (((0,), (0,)), ((), ())), "k,kj->j"),
    ((2,), (3,), (((), ()), ((), ())), "i,j->ij"),
    ((5, 2, 3), (5, 3, 4), (((2,), (1,)), ((0,), (0,))), "bik,bkj->bij"),
    ((2, 5, 3), (3, 4, 5), (((2,), (0,)), ((1,), (2,))), "ibk,kjb->bij"),
    ((2, 3, 4), (4, 3, 5), (((1, 2), (1, 0)), ((), ())), "ikl,lkj->ij"),
    ((2, 5, 3, 6), (6, 2, 3), (((2,), (2,)), ((3, 0), (0, 1))), "cbka,ack->acb"),
]


@pytest.mark.parametrize("left, right, numbers, text", CASES)
def test_dot_general(left: Any, right: Any, numbers: Any, text: str) -> None:
    x, y = rng.standard_normal(left), rng.standard_normal(right)
    got = array_of(lax.dot_general(known(x), known(y), numbers))
    np.testing.assert_allclose(got, np.einsum(text, x, y), rtol=1e-13, atol=1e-14)
    check(lambda x, y: lax.dot_general(x, y, numbers), x, y)


def test_dtypes() -> None:
    def dtype(a: Any, b: Any, **kwargs: Any) -> str:
        x, y = known(np.ones((2, 3), a)), known(np.ones((3, 2), b))
        return lax.dot_general(x, y, MATMUL, **kwargs).dtype.name

    half = ml_dtypes.bfloat16
    assert dtype(np.int8, np.int8) == "int8"
    assert dtype(np.int8, np.float32) == "float32"
    assert dtype(bool, bool) == "bool"
    assert dtype(half, half, preferred_element_type=np.float32) == "float32"
    assert dtype(np.int8, np.int8, preferred_element_type="int32") == "int32"
    assert dtype(np.complex64, np.complex64) == "complex64"
    with pytest.raises(TypeError, match="cannot hold the product"):
        dtype(np.complex64, np.complex64, preferred_element_type=np.float32)


def test_cotangents_have_the_dtype_of_the_operands() -> None:
    half = ml_dtypes.bfloat16
    x = known(np.ones((2, 3), half))
    y = known(np.ones((3, 4), half))

    def product(x: Any, y: Any) -> list[Any]:
        return [lax.dot_general(x, y, MATMUL, preferred_element_type=np.float32)]

    (out,), tape = linearize_flat(product, [x, y], [True, True])
    cts = transpose_tape(tape, [out])
    assert [ct.aval for ct in cts] == [x.aval, y.aval]


def names(fun: Any, *avals: Aval) -> list[str]:
    jaxpr, _ = stage(fun, avals)
    return [eqn.op.name for eqn in jaxpr.eqns]


def test_no_superfluous_transposes() -> None:
    f64 = np.dtype(np.float64)
    a, b = Aval((2, 3), f64), Aval((3, 4), f64)

    def pull(x: Any, y: Any) -> list[Any]:
        (out,), tape = linearize_flat(
            lambda x, y: [lax.dot(x, y)], [x, y], [True, True]
        )
        return transpose_tape(tape, [out])

    assert names(pull, a, b) == ["dot_general"] * 3

    def lanes(axes: Any) -> Any:
        def run(x: Any, y: Any) -> list[Any]:
            outs, _ = vmap_flat(lambda x, y: [lax.dot(x, y)], Axis(7), [x, y], axes)
            return outs

        return run

    rows, vectors = Aval((7, 3), f64), Aval((7, 2, 3), f64)
    assert names(lanes((0, None)), rows, b) == ["dot_general"]
    assert names(lanes((None, 0)), a, rows) == ["dot_general"]
    assert names(lanes((0, None)), vectors, b) == ["dot_general"]
    assert names(lanes((0, 0)), vectors, Aval((7, 3, 4), f64)) == ["dot_general"]


def test_text() -> None:
    f32 = np.dtype(np.float32)
    avals = [Aval((2, 3), f32), Aval((3, 4), f32)]
    jaxpr, _ = stage(lambda x, y: [lax.dot_general(x, y, MATMUL)], avals)
    assert "dot_general[dimension_numbers=(([1], [0]), ([], []))] a b" in jaxpr_text(
        jaxpr
    )
    jaxpr, _ = stage(
        lambda x, y: [lax.dot(x, y, precision="highest", preferred_element_type=f32)],
        avals,
    )
    text = jaxpr_text(jaxpr)
    assert "precision=(Precision.HIGHEST, Precision.HIGHEST)" in text
    assert "preferred_element_type=float32" in text


def test_dot_and_batch_matmul() -> None:
    x, y = rng.standard_normal((2, 3)), rng.standard_normal((3, 4))
    np.testing.assert_allclose(array_of(lax.dot(known(x), known(y))), x @ y)
    np.testing.assert_allclose(array_of(lax.dot(known(x[0]), known(y))), x[0] @ y)
    x, y = rng.standard_normal((5, 2, 3)), rng.standard_normal((5, 3, 4))
    got = array_of(lax.batch_matmul(known(x), known(y)))
    np.testing.assert_allclose(got, x @ y)


def test_messages() -> None:
    x = known(np.ones((2, 3)))
    with pytest.raises(TypeError, match=r"got \(3,\) and \(2,\)"):
        lax.dot_general(x, x, MATMUL)
    with pytest.raises(TypeError, match="must be different axes"):
        lax.dot_general(x, x, (((2,), (0,)), ((), ())))
    with pytest.raises(TypeError, match="must be different axes"):
        lax.dot_general(x, x, (((0,), (0,)), ((0,), (0,))))
    with pytest.raises(ValueError, match="last \\(left\\) and first"):
        lax.dot(x, x)
    with pytest.raises(ValueError, match="jnp.matmul broadcasts"):
        lax.batch_matmul(x, known(np.ones((1, 3, 2))))
    with pytest.raises(ValueError, match="precision must be"):
        lax.dot(x, known(np.ones((3, 2))), precision="exact")
