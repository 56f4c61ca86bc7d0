"""Products of matrices and vectors, small enough for the kernel that is not BLAS."""

import numpy as np
import pytest
from compiling import compiled, run

from tetrad._src.cpu import schedule
from tetrad._src.cpu.kernels import matvec
from tetrad._src.ops import contract
from tetrad._src.ops import shape as sh

RNG = np.random.default_rng(0)
TOL = {"f4": 2e-5, "f8": 1e-13}
FREE = (8, 9, 16, 17, 64, 65, 300)
DEPTH = (8, 13, 16, 33, 64, 129)


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("free", FREE)
@pytest.mark.parametrize("depth", DEPTH)
def test_both_ways(free, depth, dtype):
    a = RNG.standard_normal((free, depth)).astype(dtype)
    x = RNG.standard_normal(depth).astype(dtype)
    for fun, args in (
        (contract.dot, (a, x)),
        (lambda a, x: contract.dot(sh.transpose(a, (1, 0)), x), (a.T.copy(), x)),
        (lambda a, x: contract.dot(x, a), (a.T.copy(), x)),
        (lambda a, x: contract.dot(x, sh.transpose(a, (1, 0))), (a, x)),
    ):
        (got,) = run(fun, args)
        tol = TOL[dtype] * np.sqrt(depth)
        np.testing.assert_allclose(got, a @ x, rtol=tol, atol=tol)


def test_the_kernel_is_chosen():
    small = compiled(contract.dot, (np.zeros((64, 64), "f4"), np.zeros(64, "f4")))
    assert "dot" in small.text("plan")
    assert matvec.fits(matvec.Product(0, 64, 64, 64, 1, 1), "f32")
    assert matvec.fits(matvec.Product(0, 64, 64, 1, 64, 3), "f32")
    assert not matvec.fits(matvec.Product(0, 64, 64, 64, 1, 3), "f32")
    assert not matvec.fits(matvec.Product(0, 4, 64, 64, 1, 1), "f32")
    assert not matvec.fits(matvec.Product(0, 4000, 4000, 4000, 1, 1), "f32")


def test_tasks_are_groups_of_results():
    lanes = schedule.lanes(False)
    call = matvec.build(matvec.Product(0, 10 * lanes + 1, 64, 64, 1, 1), "f32")
    assert call.launches[0].total == 11


@pytest.mark.parametrize("dtype", ["f4", "f2", "i4", "?", "c8"])
def test_outer_products_are_elementwise(dtype):
    a = (RNG.standard_normal((3, 4, 2)) * 3).astype(dtype)
    b = (RNG.standard_normal((5, 3)) * 3).astype(dtype)
    dims = contract.DotDimensions((((), ()), ((0,), (1,))))
    op = contract.DotGeneral(dims)
    left, right = a[:, :, :, None], b.T[:, None, None, :]
    want = left & right if dtype == "?" else left * right
    (got,) = run(op, (a, b))
    np.testing.assert_allclose(got, want, rtol=1e-2 if dtype == "f2" else 1e-6)
    assert "dot" not in compiled(op, (a, b)).text("plan")
