"""diffrax, with optimistix and lineax, on which it stands: equations, roots, systems."""

import diffrax
import jax
import jax.numpy as jnp
import lineax
import optimistix


def decay(t, y, args):
    return -args * y


def solve(solver, controller=None, **more):
    controller = controller or diffrax.ConstantStepSize()
    return diffrax.diffeqsolve(
        diffrax.ODETerm(decay),
        solver,
        0.0,
        3.0,
        0.1,
        jnp.array([2.0, 3.0]),
        args=0.5,
        stepsize_controller=controller,
        **more,
    )


def quickstart():
    sol = solve(
        diffrax.Dopri5(),
        diffrax.PIDController(rtol=1e-5, atol=1e-5),
        saveat=diffrax.SaveAt(ts=jnp.array([0.0, 1.0, 2.0, 3.0])),
    )
    return sol.ts, sol.ys, sol.stats["num_steps"]


def solvers():
    kinds = [
        "Euler",
        "Heun",
        "Midpoint",
        "Ralston",
        "Bosh3",
        "Tsit5",
        "Dopri5",
        "Dopri8",
    ]
    return {k: solve(getattr(diffrax, k)()).ys for k in kinds}


def implicit():
    kinds = ["ImplicitEuler", "Kvaerno3", "Kvaerno5"]
    controller = diffrax.PIDController(rtol=1e-4, atol=1e-4)
    return {k: solve(getattr(diffrax, k)(), controller).ys for k in kinds}


def gradients():
    def loss(rate, adjoint):
        sol = diffrax.diffeqsolve(
            diffrax.ODETerm(decay),
            diffrax.Tsit5(),
            0.0,
            1.0,
            0.1,
            jnp.array(1.0),
            args=rate,
            adjoint=adjoint,
            max_steps=64,
        )
        return sol.ys[-1]

    adjoints = {
        "checkpoint": diffrax.RecursiveCheckpointAdjoint(),
        "direct": diffrax.DirectAdjoint(),
        "backsolve": diffrax.BacksolveAdjoint(),
    }
    return {
        k: jax.jit(jax.value_and_grad(lambda r: loss(r, a)))(0.7)
        for k, a in adjoints.items()
    }


def dense():
    sol = solve(diffrax.Tsit5(), saveat=diffrax.SaveAt(dense=True))
    return sol.evaluate(1.5), sol.derivative(1.5)


def stochastic():
    path = diffrax.VirtualBrownianTree(0.0, 1.0, 1e-3, (), jax.random.key(1))
    terms = diffrax.MultiTerm(
        diffrax.ODETerm(lambda t, y, a: -y),
        diffrax.ControlTerm(lambda t, y, a: 0.1, path),
    )
    sol = diffrax.diffeqsolve(terms, diffrax.EulerHeun(), 0.0, 1.0, 0.05, 1.0)
    return sol.ys


def events():
    event = diffrax.Event(lambda t, y, args, **kw: y[0] - 1.0)
    sol = solve(diffrax.Tsit5(), event=event)
    return sol.ts, sol.ys


def controlled():
    ts = jnp.linspace(0.0, 1.0, 8)
    ys = jnp.sin(3 * ts)[:, None]
    path = diffrax.CubicInterpolation(ts, diffrax.backward_hermite_coefficients(ts, ys))
    line = diffrax.LinearInterpolation(ts, ys)
    return path.evaluate(0.3), path.derivative(0.3), line.evaluate(0.3)


def batches():
    def one(y0):
        return diffrax.diffeqsolve(
            diffrax.ODETerm(decay),
            diffrax.Tsit5(),
            0.0,
            1.0,
            None,
            y0,
            args=0.5,
            stepsize_controller=diffrax.PIDController(rtol=1e-4, atol=1e-4),
        ).ys

    return jax.vmap(one)(jnp.arange(1.0, 5.0))


def roots():
    f = lambda y, args: jnp.cos(y) - y * args
    out = {}
    for solver in (optimistix.Newton, optimistix.Chord, optimistix.Dogleg):
        sol = optimistix.root_find(f, solver(rtol=1e-5, atol=1e-5), jnp.array(0.5), 1.0)
        out[solver.__name__] = sol.value
    b = optimistix.root_find(
        f,
        optimistix.Bisection(rtol=1e-5, atol=1e-5),
        jnp.array(0.5),
        1.0,
        options={"lower": 0.0, "upper": 1.0},
    )
    find = lambda a: (
        optimistix.root_find(
            f, optimistix.Newton(rtol=1e-5, atol=1e-5), jnp.array(0.5), a
        ).value
    )
    return out, b.value, jax.grad(find)(1.0)


def minima():
    def rosenbrock(y, args):
        return (1 - y[0]) ** 2 + 10 * (y[1] - y[0] ** 2) ** 2

    def residuals(y, args):
        return jnp.stack([1 - y[0], 10 * (y[1] - y[0] ** 2)])

    y0 = jnp.array([0.3, 0.2])
    out = {}
    for solver in (optimistix.BFGS, optimistix.NelderMead):
        s = solver(rtol=1e-5, atol=1e-5)
        out[solver.__name__] = jnp.round(
            optimistix.minimise(rosenbrock, s, y0, max_steps=1000, throw=False).value, 2
        )
    for solver in (optimistix.LevenbergMarquardt, optimistix.GaussNewton):
        s = solver(rtol=1e-5, atol=1e-5)
        out[solver.__name__] = jnp.round(
            optimistix.least_squares(residuals, s, y0).value, 3
        )
    fixed = optimistix.fixed_point(
        lambda y, a: jnp.cos(y), optimistix.FixedPointIteration(1e-5, 1e-5), 0.5
    ).value
    return out, fixed


def systems():
    a = jnp.array([[4.0, 1.0, 0.0], [1.0, 3.0, 1.0], [0.0, 1.0, 5.0]])
    b = jnp.array([1.0, 2.0, 3.0])
    tag = lineax.positive_semidefinite_tag
    operator = lineax.MatrixLinearOperator(a, tag)
    solvers = {
        "auto": lineax.AutoLinearSolver(well_posed=True),
        "lu": lineax.LU(),
        "qr": lineax.QR(),
        "svd": lineax.SVD(),
        "cholesky": lineax.Cholesky(),
        "cg": lineax.CG(1e-6, 1e-6),
        "gmres": lineax.GMRES(1e-6, 1e-6),
        "bicgstab": lineax.BiCGStab(1e-6, 1e-6),
    }
    out = {k: lineax.linear_solve(operator, b, s).value for k, s in solvers.items()}
    grad = jax.grad(
        lambda m: lineax.linear_solve(lineax.MatrixLinearOperator(m), b).value.sum()
    )(a)
    tall = lineax.MatrixLinearOperator(jnp.concatenate([a, a]))
    least = lineax.linear_solve(tall, jnp.arange(6.0), lineax.QR()).value
    d = lineax.TridiagonalLinearOperator(jnp.diag(a), jnp.diag(a, -1), jnp.diag(a, 1))
    f = lineax.FunctionLinearOperator(lambda x: a @ x, jax.eval_shape(lambda: b))
    return out, grad, least, lineax.linear_solve(d, b).value, f.as_matrix()


CASES = {
    f.__name__: f
    for f in (
        *(quickstart, solvers, implicit, gradients, dense, stochastic, events),
        *(controlled, batches, roots, minima, systems),
    )
}
