"""jaxopt: minima, proximal and projected methods, roots, fixed points, their gradients."""

import jax
import jax.numpy as jnp
import jaxopt

X = jax.random.normal(jax.random.key(0), (20, 3))
Y = X @ jnp.array([1.0, -2.0, 0.5]) + 0.1


def ridge(w, strength):
    return jnp.mean((X @ w - Y) ** 2) + strength * jnp.sum(w**2)


def unconstrained():
    start = jnp.zeros(3)
    out = {}
    for kind in ("GradientDescent", "BFGS", "LBFGS", "NonlinearCG"):
        solver = getattr(jaxopt, kind)(ridge, maxiter=200)
        out[kind] = solver.run(start, 0.1).params
    return out


def implicit():
    def loss(s):
        solver = jaxopt.LBFGS(ridge, maxiter=100, implicit_diff=True)
        return jnp.sum(solver.run(jnp.zeros(3), s).params)

    return jax.grad(loss)(0.1)


def constrained():
    f = lambda w: jnp.mean((X @ w - Y) ** 2)
    simplex = jaxopt.ProjectedGradient(f, jaxopt.projection.projection_simplex)
    lasso = jaxopt.ProximalGradient(f, jaxopt.prox.prox_lasso)
    box = jaxopt.LBFGSB(f)
    return (
        simplex.run(jnp.ones(3) / 3).params,
        lasso.run(jnp.zeros(3), 0.1).params,
        box.run(jnp.zeros(3), bounds=(-jnp.ones(3), jnp.ones(3))).params,
    )


def quadratic():
    q = jnp.array([[2.0, 0.5], [0.5, 1.0]])
    c = jnp.array([1.0, 1.0])
    a, b = jnp.array([[1.0, 1.0]]), jnp.array([1.0])
    return jaxopt.EqualityConstrainedQP().run(
        params_obj=(q, c), params_eq=(a, b)
    ).params.primal, jaxopt.OSQP().run(
        params_obj=(q, c), params_eq=(a, b), params_ineq=(-jnp.eye(2), jnp.zeros(2))
    ).params.primal


def roots():
    f = lambda x: x**3 - 2.0
    return (
        jaxopt.Bisection(f, 0.0, 2.0).run().params,
        jaxopt.Broyden(f).run(jnp.array(1.0)).params,
        jaxopt.FixedPointIteration(lambda x: jnp.cos(x)).run(jnp.array(0.5)).params,
        jaxopt.AndersonAcceleration(jnp.cos).run(jnp.array([0.5])).params,
    )


def squares():
    r = lambda w: X @ w - Y
    return (
        jaxopt.GaussNewton(r).run(jnp.zeros(3)).params,
        jaxopt.LevenbergMarquardt(r).run(jnp.zeros(3)).params,
    )


def losses():
    logits, labels = jnp.array([[1.0, 2.0, 0.3]]), jnp.array([1])
    return (
        jax.vmap(jaxopt.loss.multiclass_logistic_loss)(labels, logits),
        jax.vmap(jaxopt.loss.multiclass_sparsemax_loss)(labels, logits),
        jaxopt.isotonic.isotonic_l2_pav(jnp.array([3.0, 1.0, 2.0])),
    )


def wrapped():
    scipy = jaxopt.ScipyMinimize(fun=ridge, method="L-BFGS-B")
    return scipy.run(jnp.zeros(3), 0.1).params


CASES = {
    f.__name__: f
    for f in (
        unconstrained,
        implicit,
        constrained,
        quadratic,
        roots,
        squares,
        losses,
        wrapped,
    )
}
