"""Linear systems solved by iteration: conjugate gradients, BiCGSTAB, GMRES.

A system may act on any pytree. The solvers see one flat vector; `custom_linear_solve`
stands around them, so that a derivative is one more solve and never goes through steps.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tetrad import lax, numpy
from tetrad._src.api.transforms import linear_transpose
from tetrad._src.scipy.arguments import floating
from tetrad.flatten_util import ravel_pytree
from tetrad.tree_util import tree_leaves, tree_map, tree_structure

jnp: Any = numpy  # arrays have methods that their type does not state

Map = Callable[[Any], Any]


def cg(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """(x, None) with A·x = b, by conjugate gradients; A is hermitian positive definite.

    Args:
      A: a matrix, or a linear function from a pytree like `b` to another.
      b: the right-hand side, a pytree of arrays.
      x0: where to start; 0 by default.
      tol, atol: it ends when ‖b − A·x‖ ≤ max(tol·‖b‖, atol).
      maxiter: the greatest number of steps; 10 times the size of `b` by default.
      M: an approximation of the inverse of A: a matrix or a function.

    Derivatives with regard to `b` and to what A holds solve another such system.

    >>> from tetrad.scipy.sparse.linalg import cg
    >>> x, _ = cg(jnp.array([[4., 1.], [1., 3.]]), jnp.array([1., 2.]))
    >>> x.round(4)
    Array([0.0909, 0.6364], dtype=float32)
    """
    A, M, b, x0, maxiter = _problem("cg", A, M, b, x0, maxiter)
    real = not any(jnp.iscomplexobj(leaf) for leaf in tree_leaves(b))

    def solve(A: Map, b: Any) -> Any:
        return _flat(_cg, A, M, b, x0, tol, atol, maxiter)

    def solve_back(A: Map, b: Any) -> Any:
        return _flat(_cg, A, _transposed(M), b, None, tol, atol, maxiter)

    return lax.custom_linear_solve(A, b, solve, solve_back, symmetric=real), None


def bicgstab(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    maxiter: int | None = None,
    M: Any = None,
) -> tuple[Any, None]:
    """(x, None) with A·x = b for any A, by stabilised biconjugate gradients.

    Arguments and derivatives are those of `cg`. Source: van der Vorst, 1992.

    >>> from tetrad.scipy.sparse.linalg import bicgstab
    >>> x, _ = bicgstab(jnp.array([[4., 1.], [0., 3.]]), jnp.array([1., 2.]))
    >>> x.round(4)
    Array([0.0833, 0.6667], dtype=float32)
    """
    A, M, b, x0, maxiter = _problem("bicgstab", A, M, b, x0, maxiter)

    def solve(A: Map, b: Any) -> Any:
        return _flat(_bicgstab, A, M, b, x0, tol, atol, maxiter)

    def solve_back(A: Map, b: Any) -> Any:
        return _flat(_bicgstab, A, _transposed(M), b, None, tol, atol, maxiter)

    return lax.custom_linear_solve(A, b, solve, solve_back), None


def gmres(
    A: Any,
    b: Any,
    x0: Any = None,
    *,
    tol: Any = 1e-5,
    atol: Any = 0.0,
    restart: int = 20,
    maxiter: int | None = None,
    M: Any = None,
    solve_method: str = "batched",
) -> tuple[Any, Any]:
    """(x, info) with A·x = b for any A: x makes ‖M·(b − A·x)‖ least in a Krylov space.

    Args:
      A, b, x0, tol, atol, M: as in `cg`.
      restart: the dimension at which the space is begun anew.
      maxiter: the greatest number of spaces; 10 times the size of `b` by default.
      solve_method: 'batched' builds each space in full before it looks at the residual,
        'incremental' looks after each vector.

    info is 0, or −1 if the result is not finite. Source: Saad and Schultz, 1986.

    >>> from tetrad.scipy.sparse.linalg import gmres
    >>> x, info = gmres(jnp.array([[4., 1.], [0., 3.]]), jnp.array([1., 2.]))
    >>> x.round(4)
    Array([0.0833, 0.6667], dtype=float32)
    """
    if solve_method not in ("batched", "incremental"):
        raise ValueError(
            "gmres: solve_method must be 'batched' or 'incremental', got"
            f" {solve_method!r}"
        )
    A, M, b, x0, maxiter = _problem("gmres", A, M, b, x0, maxiter)
    early = solve_method == "incremental"
    size = sum(leaf.size for leaf in tree_leaves(b))
    steps = min(int(restart), size)

    def solver(A: Map, M: Map, b: Any, x: Any, tol: Any, atol: Any, n: int) -> Any:
        return _gmres(A, M, b, x, tol, atol, n, steps, early)

    def solve(A: Map, b: Any) -> Any:
        return _flat(solver, A, M, b, x0, tol, atol, maxiter)

    def solve_back(A: Map, b: Any) -> Any:
        return _flat(solver, A, _transposed(M), b, None, tol, atol, maxiter)

    x = lax.custom_linear_solve(A, b, solve, solve_back)
    finite = jnp.all(jnp.array([jnp.all(jnp.isfinite(y)) for y in tree_leaves(x)]))
    return x, jnp.where(finite, 0, -1)


# ------------------------------------------------------------------------- arguments


def _problem(
    name: str, A: Any, M: Any, b: Any, x0: Any, maxiter: int | None
) -> tuple[Map, Map, Any, Any, int]:
    b = tree_map(floating, b)
    if x0 is not None:
        x0 = tree_map(jnp.asarray, x0)
        if tree_structure(x0) != tree_structure(b):
            raise ValueError(
                f"{name}: x0 and b must have the same structure, got"
                f" {tree_structure(x0)} and {tree_structure(b)}"
            )
        shapes = [[y.shape for y in tree_leaves(tree)] for tree in (x0, b)]
        if shapes[0] != shapes[1]:
            raise ValueError(
                f"{name}: x0 and b must have the same shapes, got {shapes[0]} and"
                f" {shapes[1]}"
            )
    if maxiter is None:
        maxiter = 10 * sum(leaf.size for leaf in tree_leaves(b))
    M = _map(name, "M", M) if M is not None else lambda x: x
    return _map(name, "A", A), M, b, x0, maxiter


def _map(name: str, word: str, A: Any) -> Map:
    if callable(A):
        map_: Map = A
        return map_
    if hasattr(A, "ndim") and A.ndim != 2:
        raise ValueError(
            f"{name}: {word} must be a square matrix or a function, got an array of"
            f" shape {A.shape}"
        )
    if hasattr(A, "shape") and A.shape[0] != A.shape[1]:
        raise ValueError(f"{name}: {word} must be square, got shape {A.shape}")
    if hasattr(A, "__array__"):
        matrix = jnp.asarray(A)
        return lambda x: matrix @ x
    if hasattr(A, "__matmul__"):
        return lambda x: A @ x
    raise TypeError(
        f"{name}: {word} must be a square matrix or a function, got {type(A).__name__}"
    )


def _transposed(M: Map) -> Map:
    return lambda x: linear_transpose(M, x)(x)[0]


def _flat(
    solver: Callable[..., Any],
    A: Map,
    M: Map,
    b: Any,
    x0: Any,
    tol: Any,
    atol: Any,
    maxiter: int,
) -> Any:
    """The pytree x that a solver of vectors finds."""
    vector, unravel = ravel_pytree(b)

    def on_vectors(f: Map) -> Map:
        return lambda v: ravel_pytree(f(unravel(v)))[0].astype(vector.dtype)

    if x0 is None:
        start = jnp.zeros_like(vector)
    else:
        start = ravel_pytree(x0)[0].astype(vector.dtype)
    found = solver(on_vectors(A), on_vectors(M), vector, start, tol, atol, maxiter)
    return unravel(found)


# --------------------------------------------------------------------------- vectors


def _square(x: Any) -> Any:
    """‖x‖², a real number."""
    return jnp.sum(jnp.real(x) ** 2 + jnp.imag(x) ** 2)


def _limit(b: Any, tol: Any, atol: Any) -> Any:
    return jnp.maximum(tol**2 * _square(b), atol**2)


def _cg(A: Map, M: Map, b: Any, x: Any, tol: Any, atol: Any, maxiter: int) -> Any:
    limit = _limit(b, tol, atol)

    def unfinished(state: Any) -> Any:
        _, r, _, _, k = state
        return (_square(r) > limit) & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, p, rho, k = state
        Ap = A(p)
        alpha = (rho / jnp.vdot(p, Ap).real).astype(p.dtype)
        x, r = x + alpha * p, r - alpha * Ap
        z = M(r)
        new = jnp.vdot(r, z).real
        return x, r, z + (new / rho).astype(p.dtype) * p, new, k + 1

    r = b - A(x)
    z = M(r)
    start = (x, r, z, jnp.vdot(r, z).real, 0)
    return lax.while_loop(unfinished, step, start)[0]


def _quotient(a: Any, b: Any) -> Any:
    """a/b, and 0 where b is 0, in the dtype of a."""
    b = b.astype(a.dtype)
    return jnp.where(b == 0, 0, a / jnp.where(b == 0, 1, b))


def _bicgstab(A: Map, M: Map, b: Any, x: Any, tol: Any, atol: Any, maxiter: int) -> Any:
    limit = _limit(b, tol, atol)
    shadow = b - A(x)  # the vector to which residuals are made orthogonal

    def unfinished(state: Any) -> Any:
        _, r, _, _, going, k = state
        return (_square(r) > limit) & going & (k < maxiter)

    def step(state: Any) -> Any:
        x, r, p, rho, _, k = state
        Mp = M(p)
        AMp = A(Mp)
        alpha = _quotient(rho, jnp.vdot(shadow, AMp))
        s = r - alpha * AMp
        Ms = M(s)
        AMs = A(Ms)
        omega = _quotient(jnp.vdot(AMs, s), jnp.vdot(AMs, AMs))
        x = x + alpha * Mp + omega * Ms
        r = s - omega * AMs
        new = jnp.vdot(shadow, r)
        beta = _quotient(new, rho) * _quotient(alpha, omega)
        # Where one of these is 0 the recurrence cannot go on.
        going = (new != 0) & (omega != 0)
        return x, r, r + beta * (p - omega * AMp), new, going, k + 1

    rho = jnp.vdot(shadow, shadow)
    start = (x, shadow, shadow, rho, rho != 0, 0)
    return lax.while_loop(unfinished, step, start)[0]


# ----------------------------------------------------------------------------- GMRES


def _gmres(
    A: Map,
    M: Map,
    b: Any,
    x: Any,
    tol: Any,
    atol: Any,
    maxiter: int,
    steps: int,
    early: bool,
) -> Any:
    size = jnp.sqrt(_square(b))
    limit = jnp.maximum(tol * size, atol)
    # The inner residuals are those of M·A·x = M·b.
    inner = jnp.sqrt(_square(M(b))) * jnp.minimum(1, _quotient(limit, size))

    def unfinished(state: Any) -> Any:
        _, r, k = state
        return (jnp.sqrt(_square(r)) > limit) & (k < maxiter)

    def space(state: Any) -> Any:
        x, r, k = state
        x = x + _krylov(lambda v: M(A(v)), M(r), inner if early else None, steps)
        return x, b - A(x), k + 1

    return lax.while_loop(unfinished, space, (x, b - A(x), 0))[0]


def _krylov(A: Map, r: Any, limit: Any, steps: int) -> Any:
    """The y in the span of r, A·r, A²·r, … that makes ‖r − A·y‖ least.

    Rows of V are an orthonormal basis; column k of the upper triangular R is A·V[k] in
    this basis after the rotations; g is r in the same coordinates, so that its last
    element is what remains.
    """
    norm = jnp.sqrt(_square(r))
    V = jnp.zeros((steps + 1, r.size), r.dtype).at[0].set(_quotient(r, norm))
    R = jnp.zeros((steps + 1, steps), r.dtype)
    g = jnp.zeros(steps + 1, r.dtype).at[0].set(norm.astype(r.dtype))
    rotations = jnp.zeros((steps, 2), r.dtype)

    def unfinished(state: Any) -> Any:
        _, _, g, _, k = state
        more = k < steps
        return more if limit is None else more & (jnp.abs(g[k]) > limit)

    def step(state: Any) -> Any:
        V, R, g, rotations, k = state
        w = A(V[k])
        before = jnp.sqrt(_square(w))
        column = jnp.zeros(steps + 1, r.dtype)
        for _ in range(2):  # twice is enough for orthogonality
            part = V.conj() @ w
            column, w = column + part, w - part @ V
        rest = jnp.sqrt(_square(w))
        rest = jnp.where(rest > jnp.finfo(r.dtype).eps * before, rest, 0)
        V = V.at[k + 1].set(jnp.where(rest == 0, 0, _quotient(w, rest)))
        column = column.at[k + 1].set(rest.astype(r.dtype))
        column = lax.fori_loop(0, k, lambda i, c: _rotate(c, i, rotations[i]), column)
        rotation = _rotation(column[k], rest)
        rotations = rotations.at[k].set(rotation)
        R = R.at[:, k].set(_rotate(column, k, rotation))
        return V, R, _rotate(g, k, rotation), rotations, k + 1

    V, R, g, _, _ = lax.while_loop(unfinished, step, (V, R, g, rotations, 0))
    # Columns that were not built, or that bring nothing new, have a zero on the diagonal.
    R, g = R[:steps], g[:steps]
    diagonal = jnp.diagonal(R)
    R = R + jnp.diag(jnp.where(diagonal == 0, 1, 0).astype(R.dtype))
    g = jnp.where(diagonal == 0, 0, g)
    y = lax.linalg.triangular_solve(R, g[:, None], left_side=True, lower=False)[:, 0]
    return y @ V[:steps]


def _rotation(a: Any, b: Any) -> Any:
    """(c, s) so that the unitary matrix (c, s; −s, c̄) takes (a, b), b real, to (‖·‖, 0)."""
    size = jnp.sqrt(_square(a) + b * b)
    c = jnp.where(size == 0, 1, _quotient(jnp.conj(a), size))
    return jnp.stack([c, _quotient(b, size).astype(c.dtype)])


def _rotate(x: Any, k: Any, rotation: Any) -> Any:
    c, s = rotation[0], rotation[1]
    upper, lower = x[k], x[k + 1]
    x = x.at[k].set(c * upper + s * lower)
    return x.at[k + 1].set(jnp.conj(c) * lower - s * upper)
