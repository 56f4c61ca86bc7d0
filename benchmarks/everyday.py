"""Everyday calls on small arrays, each awaited: what a session at the prompt is made of.

Each expression is timed as it stands, in the names that `names` gives it.
"""

GROUPS = {
    "operators": """
        x + y | x * 2.0 | 2 - x | -x | x**2 | x**0.5 | x / y | x // y | x % y | x % 2.0
        abs(x) | x > y | x == y | ~b | b & b | x @ x | m @ m | m @ x[:10] | m.T""",
    "indexing": """
        x[3] | x[1:5] | x[::2] | x[i] | m[2] | m[:, 1] | m[1, 2] | m[i, i] | x[None]
        x.at[3].set(1.0) | x.at[i].add(1.0) | x.at[1:5].set(0.0) | m.at[2, 3].set(1.0)
        jnp.take(x, i) | jnp.take(x, 3) | x[i, None] | m[::-1, 2:5] | x[-1] | m[..., 0]
        x.at[i].max(0.5) | m.at[0].set(x[:10]) | jnp.take_along_axis(m, jnp.argsort(m, 1), 1)""",
    "methods": """
        x.sum() | x.mean() | x.std() | x.max() | x.argmax() | m.sum(0)
        m.sum(axis=1, keepdims=True) | m.mean(axis=(0, 1)) | x.astype(jnp.int32)
        x.reshape(10, 10) | m.ravel() | m.flatten() | x.cumsum() | x.sort() | x.argsort()
        x.round() | x.clip(-1, 1) | x.dot(y) | b.any() | b.all()""",
    "to Python": "float(x[0]) | int(i[3]) | bool(b[0]) | x.tolist() | np.asarray(x)",
    "creation": """
        jnp.zeros(10) | jnp.ones((3, 4)) | jnp.full((3,), 2.0) | jnp.arange(10)
        jnp.linspace(0, 1, 10) | jnp.eye(4) | jnp.array([1.0, 2.0, 3.0]) | jnp.array(3.0)
        jnp.array([[1, 2], [3, 4]]) | jnp.asarray(host) | jnp.zeros_like(x)
        jnp.full_like(x, 2.0) | jnp.diag(x[:5]) | jnp.tril(m) | jnp.meshgrid(i, i)""",
    "element by element": """
        jnp.sin(x) | jnp.exp(x) | jnp.log(y * y) | jnp.sqrt(y * y) | jnp.tanh(x)
        jnp.power(x, 2) | jnp.square(x) | jnp.abs(x) | jnp.sign(x) | jnp.maximum(x, 0.0)
        jnp.minimum(x, y) | jnp.clip(x, -1, 1) | jnp.where(b, x, 0.0) | jnp.where(b, x, y)
        jnp.isnan(x) | jnp.logical_and(b, b) | jnp.arctan2(x, y) | jnp.mod(x, 2.0)
        jnp.nan_to_num(x) | jnp.interp(0.5, i, i * 1.0) | jnp.polyval(y[:4], x)
        jnp.where(b, 1, 0) | jnp.power(2.0, x) | jnp.arctan2(x, 1.0) | jnp.hypot(x, y)
        jnp.floor_divide(x, 2) | jnp.isclose(x, y) | jnp.round(x, 2) | jnp.logaddexp(x, y)""",
    "reductions": """
        jnp.sum(x) | jnp.mean(m, axis=0) | jnp.std(x) | jnp.max(m, axis=1) | jnp.prod(x)
        jnp.argmax(m, axis=1) | jnp.cumsum(m, axis=0) | jnp.any(b) | jnp.all(b)
        jnp.median(x) | jnp.percentile(x, 50.0) | jnp.average(x) | jnp.ptp(x)
        jnp.count_nonzero(b) | jnp.allclose(x, x) | jnp.array_equal(x, y) | jnp.cov(m)
        jnp.corrcoef(m) | jnp.trapezoid(x)""",
    "shapes": """
        jnp.concatenate([x, y]) | jnp.stack([x, y]) | jnp.vstack([x, y]) | jnp.split(x, 4)
        jnp.tile(x, 2) | jnp.repeat(x, 2) | jnp.roll(x, 1) | jnp.flip(x) | jnp.pad(x, 2)
        jnp.transpose(m) | jnp.moveaxis(m, 0, 1) | jnp.broadcast_to(x, (3, 100))
        jnp.squeeze(m[None]) | jnp.rot90(m) | jnp.hstack([x, y]) | jnp.column_stack([x, y])
        jnp.expand_dims(x, 0) | jnp.append(x, 1.0) | jnp.atleast_2d(x)""",
    "order": """
        jnp.sort(x) | jnp.argsort(x) | jnp.searchsorted(i, 3) | jnp.unique(i, size=5)
        jnp.bincount(i, length=10) | jnp.histogram(x, bins=5) | jnp.diff(x)
        jnp.gradient(x) | jnp.convolve(x, y[:5]) | jnp.digitize(x, i * 1.0)
        jnp.select([b, ~b], [x, y]) | lax.top_k(x, 3)""",
    "linear algebra": """
        jnp.dot(x, y) | jnp.einsum('ij,jk->ik', m, m) | jnp.tensordot(m, m, 1)
        jnp.outer(x, y) | jnp.kron(m[:2, :2], m[:2, :2]) | jnp.cross(x[:3], y[:3])
        jnp.trace(m) | jnp.linalg.norm(x) | jnp.linalg.solve(p, x[:10])
        jnp.linalg.inv(p) | jnp.linalg.cholesky(p) | jnp.linalg.det(p)
        jnp.linalg.slogdet(p) | jnp.linalg.eigh(p) | jnp.linalg.svd(m)
        jnp.linalg.qr(m) | jnp.linalg.pinv(m) | jnp.linalg.matrix_power(m, 3)
        jnp.fft.fft(x) | jnp.fft.rfft(x) | jnp.vdot(x, y) | jnp.inner(x, y)""",
    "activations": """
        nn.relu(x) | nn.gelu(x) | nn.softmax(x) | nn.log_softmax(m) | nn.sigmoid(x)
        nn.silu(x) | nn.one_hot(i, 10) | nn.elu(x) | nn.leaky_relu(x) | nn.softplus(x)
        nn.standardize(x) | nn.logsumexp(x)""",
    "random numbers": """
        random.key(0) | random.split(clone(key)) | random.normal(clone(key), (10,))
        random.uniform(clone(key), (10,)) | random.randint(clone(key), (10,), 0, 5)
        random.bernoulli(clone(key), 0.5, (10,)) | random.permutation(clone(key), 10)
        random.choice(clone(key), 10, (3,)) | random.categorical(clone(key), m)
        random.fold_in(clone(key), 3) | random.gamma(clone(key), 2.0, (4,))""",
    "control": """
        lax.dynamic_slice(x, (3,), (4,)) | lax.dynamic_update_slice(x, y[:3], (2,))
        lax.fori_loop(0, 10, lambda i, c: c + 1.0, x) | lax.select(b, x, y)
        lax.scan(lambda c, v: (c + v, c), x[0], x) | lax.map(lambda v: v * 2, x)
        lax.while_loop(lambda c: c < 10, lambda c: c + 1, 0)
        lax.cond(True, lambda v: v + 1, lambda v: v - 1, x)""",
    "compiled functions": """
        twice(x) | scaled(x, 2.0) | scaled(x, host) | power(x, 3) | power(x, n=3)
        tree_twice(t) | slope(x) | value_and_slope(t) | three(x, y)""",
    "transformations": """
        jax.grad(lambda x: (x**2).sum())(x) | jax.vmap(jnp.dot)(m, m)
        jax.jvp(jnp.sin, (x,), (y,)) | jax.vjp(jnp.sin, x)[1](y)
        jax.jacfwd(jnp.sin)(x[:5]) | jax.hessian(lambda x: (x**3).sum())(x[:5])
        jax.tree.map(jnp.add, t, t) | jax.device_put(x)""",
}


def expressions():
    """(group, expression) for every row."""
    return [
        (group, words.strip())
        for group, text in GROUPS.items()
        for line in text.splitlines()
        for words in line.split(" | ")
        if words.strip()
    ]


def names(jax, jnp, np):
    """What the expressions are about."""
    rng = np.random.default_rng(0)
    x, m = rng.normal(size=100), rng.normal(size=(10, 10))
    x, m = jnp.asarray(x, "float32"), jnp.asarray(m, "float32")
    y = x + 1
    found = {
        "jax": jax, "jnp": jnp, "np": np, "lax": jax.lax, "nn": jax.nn,
        "random": jax.random, "clone": jax.random.clone, "key": jax.random.key(0),
        "x": x, "y": y, "m": m, "b": x > 0, "i": jnp.arange(10),
        "p": m @ m.T + 10 * jnp.eye(10), "t": {"a": x, "b": [m, y]},
        "host": np.ones(100, "float32"),
        "twice": jax.jit(lambda x: x * 2 + 1),
        "scaled": jax.jit(lambda x, by: x * by),
        "power": jax.jit(lambda x, n: x**n, static_argnames="n"),
        "tree_twice": jax.jit(lambda t: jax.tree.map(lambda v: v * 2, t)),
        "slope": jax.jit(jax.grad(lambda x: (x**2).sum())),
        "value_and_slope": jax.jit(jax.value_and_grad(
            lambda t: sum((v**2).sum() for v in jax.tree.leaves(t)))),
        "three": jax.jit(lambda x, y: (x + y, x * y, x - y)),
    }  # fmt: skip
    jax.block_until_ready([v for v in found.values() if isinstance(v, jax.Array)])
    return found


def build(expression, jax, jnp, np):
    """A function of no arguments that evaluates an expression and awaits it."""
    compiled = compile(f"lambda: ({expression})", "<everyday>", "eval")
    function = eval(compiled, names(jax, jnp, np))
    if isinstance(function(), (bool, int, float, np.ndarray)):
        return function
    return lambda: jax.block_until_ready(function())
