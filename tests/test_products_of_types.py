"""Products of element types that no routine multiplies, in every form."""

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp


@pytest.mark.parametrize("result", [None, "float32", "bfloat16", "float64", "int32"])
@pytest.mark.parametrize(
    "dtype", ["bfloat16", "float16", "float32", "int32", "int8", "bool", "complex64"]
)
def test_products_of_all_types_and_forms(dtype, result):
    if result is not None and dtype in ("bool", "complex64"):
        return
    if result == "int32" and "float" in dtype:
        return
    rng = np.random.default_rng(0)
    forms = ["i,i->", "ij,j->i", "j,jk->k", "ji,j->i", "bij,bj->bi", "ibj,jb->bi"]
    forms += ["ij,jk->ik", "bij,bjk->bik", "iab,ba->i", "iab,kba->ik", "bi,bi->b"]
    sizes = {"i": 33, "j": 65, "k": 17, "b": 3, "a": 5}
    with jax.enable_x64(True):
        for form in forms:
            x, y = (
                rng.integers(0, 3, [sizes[c] for c in part])
                for part in form.split("->")[0].split(",")
            )
            a, b = jnp.asarray(x).astype(dtype), jnp.asarray(y).astype(dtype)
            got = jnp.einsum(form, a, b, preferred_element_type=result)
            want = np.einsum(form, x, y)
            want = want > 0 if dtype == "bool" else want
            kind = result or dtype
            assert got.dtype == kind
            want = jnp.asarray(want).astype(kind)
            np.testing.assert_array_equal(np.asarray(got), np.asarray(want), form)
