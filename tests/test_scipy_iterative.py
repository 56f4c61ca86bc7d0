"""Iterative solvers of linear systems."""

from functools import partial

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.scipy.sparse.linalg import bicgstab, cg, gmres

SOLVERS = {
    "cg": cg,
    "bicgstab": bicgstab,
    "gmres": gmres,
    "restarted": partial(gmres, restart=4),
    "incremental": partial(gmres, solve_method="incremental"),
    "incremental, restarted": partial(gmres, solve_method="incremental", restart=5),
}


@pytest.fixture(autouse=True)
def wide():
    with jax.enable_x64(True):
        yield


def system(name, kind, n=9):
    rng = np.random.default_rng(0)
    root, b = rng.normal(size=(n, n)), rng.normal(size=n)
    if kind == "complex":
        root, b = root + 1j * rng.normal(size=(n, n)), b + 1j * rng.normal(size=n)
    matrix = root @ root.conj().T / n + np.eye(n)
    if name != "cg":
        matrix = matrix + 0.3 * root
    return matrix, b


@pytest.mark.parametrize("kind", ["real", "complex"])
@pytest.mark.parametrize("name", SOLVERS)
def test_solutions_and_derivatives(name, kind):
    matrix, b = system(name, kind)
    solve = partial(SOLVERS[name], tol=1e-11)
    exact = np.linalg.solve(matrix, b)
    inverse = np.diag(1 / np.diag(matrix))
    calls = [(matrix, None), (lambda x: jnp.array(matrix) @ x, None)]
    calls.append((matrix, inverse))
    for A, M in calls:
        x, _ = solve(A, b, M=M)
        np.testing.assert_allclose(x, exact, rtol=1e-7, atol=1e-8)
    x, _ = jax.jit(lambda A, b: solve(A, b, b))(matrix, b)
    np.testing.assert_allclose(x, exact, rtol=1e-7, atol=1e-8)

    def total(solved, A, b):
        return jnp.sum(jnp.abs(solved(A, b)) ** 2)

    ours = jax.grad(partial(total, lambda A, b: solve(A, b, M=inverse)[0]), (0, 1))
    theirs = jax.grad(partial(total, jnp.linalg.solve), (0, 1))
    got, wanted = ours(matrix, b), theirs(matrix, b)
    if name == "cg":  # derivatives of cg are those of hermitian matrices
        got, wanted = got[1:], wanted[1:]
    for g, w in zip(got, wanted, strict=True):
        np.testing.assert_allclose(g, w, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", SOLVERS)
def test_batches_pytrees_and_zeros(name):
    matrix, b = system(name, "real")
    solve = partial(SOLVERS[name], tol=1e-10)
    many = np.stack([b, 2 * b, 0 * b])
    x, _ = jax.vmap(lambda b: solve(matrix, b))(many)
    np.testing.assert_allclose(x, np.linalg.solve(matrix, many.T).T, atol=1e-8)
    x, _ = solve(lambda t: {"a": 2 * t["a"], "b": 3 * t["b"]},
                 {"a": jnp.ones(2), "b": jnp.ones((2, 2))})  # fmt: skip
    np.testing.assert_allclose(x["a"], 0.5)
    np.testing.assert_allclose(x["b"], 1 / 3)
    x, _ = solve(np.eye(3), np.zeros(3))
    assert x.tolist() == [0, 0, 0]
    x, _ = solve(np.eye(3), np.ones(3, int))
    np.testing.assert_allclose(x, 1)


def test_limits_of_steps():
    matrix, b = system("cg", "real")
    x, _ = cg(matrix, b, maxiter=1)
    alpha = b @ b / (b @ matrix @ b)
    np.testing.assert_allclose(x, alpha * b)
    x, info = gmres(matrix, b, maxiter=1, restart=2)
    assert info == 0
    space = np.stack([b, matrix @ b], 1)
    y = np.linalg.lstsq(matrix @ space, b, rcond=None)[0]
    np.testing.assert_allclose(x, space @ y)


def test_mistakes():
    b = jnp.ones(3)
    with pytest.raises(ValueError, match="must be square"):
        cg(jnp.ones((3, 2)), b)
    with pytest.raises(TypeError, match="square matrix or a function, got str"):
        cg("A", b)
    with pytest.raises(ValueError, match="x0 and b must have the same shapes"):
        cg(jnp.eye(3), b, jnp.ones(2))
    with pytest.raises(ValueError, match="x0 and b must have the same structure"):
        bicgstab(jnp.eye(3), b, (b,))
    with pytest.raises(ValueError, match="solve_method must be"):
        gmres(jnp.eye(3), b, solve_method="direct")
