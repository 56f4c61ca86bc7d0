"""Mistakes about what functions take and return: trees, types and shapes side by side."""

from __future__ import annotations

from mistakes.mistake import Mistake, mistake
from tetrad import errors

MISTAKES: list[Mistake] = [
    # ------------------------------------------------------------------------- vmap
    mistake(
        "vmap over parameters and a batch",
        """
def predict(params, x):
    return params["w"] @ x + params["b"]

params = {"w": jnp.ones((2, 3)), "b": jnp.ones(2)}
jax.vmap(predict)(params, jnp.ones((8, 3)))
""",
        ValueError,
        "vmap(predict, in_axes=(None, 0))",
        "params['w']",
    ),
    mistake(
        "vmap with an argument by keyword",
        """
def scale(x, factor):
    return x * factor

jax.vmap(scale)(jnp.ones(3), factor=jnp.ones(4))
""",
        ValueError,
        "Give `factor` by position",
    ),
    mistake(
        "vmap with another axis_size",
        """
jax.vmap(jnp.sin, axis_size=4)(jnp.ones(3))
""",
        ValueError,
        "leave axis_size out",
    ),
    mistake(
        "vmap over the other axis",
        """
def dot(a, b):
    return a @ b

jax.vmap(dot)(jnp.ones((5, 3)), jnp.ones((3, 5)))
""",
        ValueError,
        "in_axes=(0, 1)",
        "maps `b` over its axis 1",
    ),
    mistake(
        "out_axes that lack a key",
        """
def f(x):
    return {"sum": x + 1, "product": x * 2}

jax.vmap(f, out_axes={"sum": 0})(jnp.ones(3))
""",
        ValueError,
        "unexpected ['product']",
        "out_axes={'product': 0, 'sum': 0}",
    ),
    mistake(
        "out_axes out of range",
        """
jax.vmap(lambda x: x, out_axes=2)(jnp.ones(3))
""",
        ValueError,
        "out_axes=0",
    ),
    # ------------------------------------------------------------------------ loops
    mistake(
        "a scan whose step takes one argument",
        """
def step(carry):
    return carry, carry

lax.scan(step, 0.0, jnp.ones(3))
""",
        TypeError,
        "`step` is called with 2 arguments (carry, x)",
        "def step(carry, x):",
    ),
    mistake(
        "a scan whose step returns nothing",
        """
def step(carry, x):
    carry = carry + x

lax.scan(step, 0.0, jnp.ones(3))
""",
        TypeError,
        "Does it lack a return statement?",
    ),
    mistake(
        "a scan that returns three values",
        """
def step(carry, x):
    return carry, x, x

lax.scan(step, 0.0, jnp.ones(3))
""",
        TypeError,
        "return carry, (y, z)",
    ),
    mistake(
        "a scan whose carry becomes a list",
        """
def step(state, x):
    mean, count = state
    return [mean + x, count + 1], None

lax.scan(step, (0.0, 0), jnp.ones(3))
""",
        TypeError,
        "a tuple of length 2",
        "a list of length 2",
        "return (..., ...), y",
    ),
    mistake(
        "a scan whose carry changes dtype",
        """
def step(state, x):
    return {"sum": state["sum"] + x, "count": state["count"] + 1}, None

start = {"sum": jnp.zeros((), "int32"), "count": 0}
lax.scan(step, start, jnp.ones(3))
""",
        TypeError,
        "['sum']",
        "jnp.asarray(init['sum'], 'float32')",
    ),
    mistake(
        "a scan with another length",
        """
lax.scan(lambda c, x: (c + x, None), 0.0, jnp.ones(3), length=5)
""",
        ValueError,
        "Leave length out: it is 3 then",
    ),
    mistake(
        "a scan of negative length",
        """
lax.scan(lambda c, x: (c, None), 0.0, None, length=-1)
""",
        ValueError,
        "`length` must be an integer >= 0, got -1",
    ),
    mistake(
        "a fori_loop without the index",
        """
def body(x):
    return x + 1

lax.fori_loop(0, 3, body, 0)
""",
        TypeError,
        "(i, val)",
        "def body(i, val):",
    ),
    mistake(
        "a fori_loop that grows",
        """
def body(i, x):
    return jnp.append(x, i)

lax.fori_loop(0, 3, body, jnp.zeros(1))
""",
        TypeError,
        "the shapes differ",
        "(2,)",
    ),
    mistake(
        "a while loop with its functions swapped",
        """
lax.while_loop(lambda x: x + 1, lambda x: x < 10, 0)
""",
        TypeError,
        "`cond_fun` must return a bool scalar, got int32[]",
    ),
    mistake(
        "a while loop whose condition returns the state",
        """
def unfinished(state):
    return state[0] < 10, state

lax.while_loop(unfinished, lambda s: s, (0, 1.0))
""",
        TypeError,
        "a tuple of length 2",
        "Return the condition alone",
    ),
    mistake(
        "a while loop that loses a part of its state",
        """
def body(state):
    i, x = state
    return i + 1

lax.while_loop(lambda s: s[0] < 3, body, (0, 1.0))
""",
        TypeError,
        "a tuple of length 2",
        "return (..., ...)",
    ),
    mistake(
        "a map over arrays of different lengths",
        """
lax.map(lambda ab: ab[0] + ab[1], (jnp.ones(3), jnp.ones(4)))
""",
        ValueError,
        "xs[1]",
        "x[:3]",
    ),
    mistake(
        "an associative_scan that returns a pair",
        """
def combine(a, b):
    return a + b, b

lax.associative_scan(combine, jnp.ones(3))
""",
        TypeError,
        "a tuple of length 2",
        "Return one array",
    ),
    # --------------------------------------------------------------------- branches
    mistake(
        "branches of different structures",
        """
def full(x):
    return {"value": x, "error": x}

def short(x):
    return {"value": x}

lax.cond(True, full, short, 1.0)
""",
        TypeError,
        "missing ['error']",
        "return {'error': ..., 'value': ...}",
    ),
    mistake(
        "a branch without a return",
        """
def doubled(x):
    2 * x

lax.cond(True, doubled, lambda x: x, 1.0)
""",
        TypeError,
        "Does `doubled` lack a return statement?",
    ),
    mistake(
        "branches of different shapes",
        """
def whole(x):
    return x, x.sum()

def half(x):
    return x[:2], x.sum()

lax.cond(True, whole, half, jnp.ones(4))
""",
        TypeError,
        "float32[4]",
        "float32[2]",
        "<- the shapes differ",
    ),
    mistake(
        "a branch that takes no operand",
        """
lax.cond(True, lambda: 1.0, lambda: 2.0, 3.0)
""",
        TypeError,
        "is called with 1 argument, but its parameters are ()",
    ),
    mistake(
        "branches without operands",
        """
lax.cond(True, lambda x: x + 1, lambda x: x - 1)
""",
        TypeError,
        "is called with no arguments",
    ),
    mistake(
        "a switch over one function",
        """
lax.switch(0, lambda x: x, 1.0)
""",
        TypeError,
        "lax.switch(index, [f, g], x)",
    ),
    mistake(
        "a switch by a float",
        """
lax.switch(1.0, [jnp.sin, jnp.cos], 0.5)
""",
        TypeError,
        "the index must be an integer, got float32[]",
    ),
    mistake(
        "a switch whose third branch differs",
        """
branches = [lambda x: (x, x), lambda x: (x, x), lambda x: x]
lax.switch(0, branches, 1.0)
""",
        TypeError,
        "branches[2]",
        "a tuple of length 2",
    ),
    # ------------------------------------------------------------------ derivatives
    mistake(
        "the gradient of a dictionary",
        """
def loss(x):
    return {"loss": x**2}

jax.grad(loss)(1.0)
""",
        TypeError,
        "return result['loss']",
    ),
    mistake(
        "the gradient by an argument that is not there",
        """
def loss(w):
    return w**2

jax.grad(loss, argnums=1)(1.0)
""",
        TypeError,
        "argnums=0",
    ),
    mistake(
        "auxiliary data that are not there",
        """
jax.value_and_grad(lambda w: w**2, has_aux=True)(1.0)
""",
        TypeError,
        "return value, aux",
    ),
    mistake(
        "a tangent of another structure",
        """
def f(params):
    return params["w"] * 2.0

jax.jvp(f, ({"w": 1.0},), ({"b": 1.0},))
""",
        TypeError,
        "missing ['w']",
        "jax.tree.map(jnp.ones_like, primals)",
    ),
    mistake(
        "a cotangent of another structure",
        """
def f(x):
    return x, x**2

y, f_vjp = jax.vjp(f, 2.0)
f_vjp(1.0)
""",
        ValueError,
        "a tuple of length 2",
        "f_vjp((..., ...))",
    ),
    mistake(
        "the transpose of a function that is not linear",
        """
jax.linear_transpose(lambda x: jnp.sin(x), 1.0)(1.0)
""",
        NotImplementedError,
        "`jnp.sin(x)`",
        "is not linear",
    ),
    mistake(
        "a cotangent for linear_transpose of another structure",
        """
transposed = jax.linear_transpose(lambda x: (x, 2 * x), 1.0)
transposed(1.0)
""",
        ValueError,
        "a tuple of length 2",
    ),
    # ----------------------------------------------------------------- custom rules
    mistake(
        "a custom_jvp whose rule returns one value",
        """
@jax.custom_jvp
def f(x):
    return jnp.sin(x)

@f.defjvp
def f_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return jnp.cos(x) * dx

jax.grad(f)(1.0)
""",
        TypeError,
        "Custom JVP rule f_jvp for function f must produce a pair",
        "return f(x), derivative * x_dot",
    ),
    mistake(
        "a custom_jvp whose tangent has another structure",
        """
@jax.custom_jvp
def f(x):
    return x, 2 * x

@f.defjvp
def f_jvp(primals, tangents):
    (x,), (dx,) = primals, tangents
    return f(x), dx

jax.jvp(f, (1.0,), (1.0,))
""",
        TypeError,
        "the result",
        "its tangent",
        "tangent = (..., ...)",
    ),
    mistake(
        "a custom_jvp without a rule",
        """
@jax.custom_jvp
def f(x):
    return jnp.sin(x)

jax.grad(f)(1.0)
""",
        AttributeError,
        "f.defjvp",
    ),
    mistake(
        "nondiff_argnums out of range",
        """
jax.custom_jvp(lambda f, x: f(x), nondiff_argnums=(2,))
""",
        ValueError,
        "nondiff_argnums=(2,)",
        "takes 2 positional arguments",
    ),
    mistake(
        "a custom_vjp whose bwd returns no tuple",
        """
@jax.custom_vjp
def f(x):
    return jnp.sin(x)

def f_fwd(x):
    return f(x), x

def f_bwd(x, ct):
    return jnp.cos(x) * ct

f.defvjp(f_fwd, f_bwd)
jax.grad(f)(1.0)
""",
        TypeError,
        "Custom VJP bwd rule f_bwd must produce a tuple",
        "return (...,)",
    ),
    mistake(
        "a custom_vjp whose bwd forgets a parameter",
        """
@jax.custom_vjp
def f(params):
    return params["w"] * params["b"]

def f_fwd(params):
    return f(params), params

def f_bwd(params, ct):
    return ({"w": ct * params["b"]},)

f.defvjp(f_fwd, f_bwd)
jax.grad(f)({"w": 1.0, "b": 2.0})
""",
        TypeError,
        "return ({'b': ..., 'w': ...},)",
    ),
    mistake(
        "a custom_vjp that closes over a differentiated value",
        """
def loss(scale):
    @jax.custom_vjp
    def f(x):
        return scale * x

    f.defvjp(lambda x: (f(x), None), lambda res, ct: (ct,))
    return f(2.0)

jax.grad(loss)(3.0)
""",
        errors.UnexpectedTracerError,
        "pass it to the function as an argument",
    ),
    mistake(
        "a custom_root whose solver returns a pair",
        """
def newton(f, x):
    return x - f(x) / 2.0, f(x)

lax.custom_root(lambda x: x * x - 2.0, 1.0, newton, lambda g, y: y / g(1.0))
""",
        TypeError,
        "`newton` must return the structure of initial_guess",
    ),
    mistake(
        "a custom_linear_solve whose solver returns a part",
        """
a = jnp.eye(3)
lax.custom_linear_solve(lambda x: a @ x, jnp.ones(3), lambda matvec, b: b[:2])
""",
        TypeError,
        "the shapes differ",
    ),
    mistake(
        "a checkpoint policy that is a name",
        """
jax.checkpoint(jnp.sin, policy="dots_saveable")
""",
        TypeError,
        "jax.checkpoint_policies.dots_saveable",
    ),
    # -------------------------------------------------------------------- jit, trees
    mistake(
        "an argument that is static and donated",
        """
jax.jit(lambda x, n: x * n, static_argnums=1, donate_argnums=1)
""",
        ValueError,
        "only arrays can be donated",
    ),
    mistake(
        "a transposed tree that is uneven",
        """
outer = jax.tree.structure([0, 0])
inner = jax.tree.structure({"a": 0})
jax.tree.transpose(outer, inner, [{"a": 1}, {"b": 2}])
""",
        TypeError,
        "['b']",
        "['a']",
    ),
    mistake(
        "a sum over an axis without a name",
        """
jax.vmap(lambda x: x / lax.psum(x, "batch"))(jnp.ones(3))
""",
        NameError,
        "vmap(f, axis_name='batch')",
    ),
]
