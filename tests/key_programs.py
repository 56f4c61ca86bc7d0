"""Small programs with random keys: those that use a key twice, and those that do not.

Each stands under the name of what it shows. They are run with `jax`, `jnp`, `np`, `lax`,
`random`, `key` (a typed key that nobody used yet) and `raw` (one of two words).
"""

REUSE = {
    "two draws": """
        a = random.normal(key)
        b = random.normal(key)
    """,
    "two draws from different distributions": """
        a = random.normal(key, (3,))
        b = random.uniform(key, (5,))
    """,
    "two draws from a raw key": """
        a = random.normal(raw)
        b = random.bits(raw)
    """,
    "a draw from the parent after the split": """
        k1, k2 = random.split(key)
        a = random.normal(key)
    """,
    "a draw from a raw parent after the split": """
        k1, k2 = random.split(raw)
        a = random.normal(raw)
    """,
    "a split after a draw": """
        a = random.normal(key)
        k1, k2 = random.split(key)
    """,
    "two splits in two places": """
        k1, k2 = random.split(key)
        k3, k4 = random.split(key)
    """,
    "two splits into different numbers": """
        k1, k2 = random.split(key)
        k3, k4, k5 = random.split(key, 3)
    """,
    "one child twice": """
        k1, k2 = random.split(key)
        a = random.normal(k1) + random.normal(k2)
        b = random.uniform(k1)
    """,
    "one child twice, by its index": """
        keys = random.split(key, 5)
        a = random.normal(keys[3])
        b = random.normal(keys[-2])
    """,
    "one raw child twice, by its index": """
        keys = random.split(raw, 5)
        a = random.normal(keys[3])
        b = random.normal(keys[3])
    """,
    "a loop that forgets to split": """
        for _ in range(3):
            a = random.normal(key)
    """,
    "a loop that splits the same key": """
        for _ in range(3):
            _, k = random.split(key)
            a = random.normal(k)
    """,
    "one key for two calls of a function": """
        def init(key, n):
            return random.normal(key, (n,))
        w = init(key, 3)
        b = init(key, 2)
    """,
    "across functions": """
        def weights(key):
            return random.normal(key, (3,))
        def noise(rng):
            return random.uniform(rng, (3,))
        a = weights(key) + noise(key)
    """,
    "the same data folded in twice": """
        a = random.normal(random.fold_in(key, 3))
        b = random.normal(random.fold_in(key, 3))
    """,
    "a copy": """
        copy = jnp.array(key)
        a = random.normal(key)
        b = random.normal(copy)
    """,
    "the same key in another shape": """
        keys = key.reshape(1)
        a = random.normal(key)
        b = random.normal(keys[0])
    """,
    "a raw key and the typed key of its words": """
        typed = random.wrap_key_data(raw)
        a = random.normal(typed)
        b = random.normal(raw)
    """,
    "a row of keys after one of them": """
        keys = random.split(key, 3)
        a = random.normal(keys[1])
        b = jax.vmap(random.normal)(keys)
    """,
    "overlapping slices of keys": """
        keys = random.split(key, 6)
        a = jax.vmap(random.normal)(keys[:4])
        b = jax.vmap(random.normal)(keys[3:])
    """,
    "inside jit": """
        @jax.jit
        def f(key):
            return random.normal(key) + random.uniform(key)
        a = f(key)
    """,
    "inside jit, with a raw key": """
        @jax.jit
        def f(key):
            k1, k2 = random.split(key)
            return random.normal(k1) + random.uniform(key)
        a = f(raw)
    """,
    "two calls of a compiled function": """
        f = jax.jit(lambda key: random.normal(key))
        a = f(key)
        b = f(key)
    """,
    "a compiled function, then a draw": """
        f = jax.jit(lambda params, key: params * random.normal(key))
        a = f(2.0, key)
        b = random.normal(key)
    """,
    "two calls of a compiled function that closes over the key": """
        f = jax.jit(lambda x: x + random.normal(key))
        a = f(1.0)
        b = f(2.0)
    """,
    "one key passed as two arguments": """
        f = jax.jit(lambda k1, k2: random.normal(k1) + random.uniform(k2))
        a = f(key, key)
    """,
    "a compiled function inside another, twice": """
        noise = jax.jit(lambda key: random.normal(key))
        f = jax.jit(lambda key: noise(key) + noise(key))
        a = f(key)
    """,
    "a key that comes out of jit after its use": """
        f = jax.jit(lambda key: (key, random.normal(key)))
        same, a = f(key)
        b = random.normal(same)
    """,
    "a key inside a pytree": """
        state = {"step": 0, "key": key}
        def draw(state):
            return random.normal(state["key"])
        a = draw(state)
        b = draw(dict(state, step=1))
    """,
    "a pytree under jit": """
        f = jax.jit(lambda state: random.normal(state["key"]) * state["scale"])
        a = f({"key": key, "scale": 2.0})
        b = f({"key": key, "scale": 3.0})
    """,
    "vmap over x alone, the key closed over": """
        a = jax.vmap(lambda x: x + random.normal(key))(jnp.arange(3.0))
    """,
    "vmap over x alone, the key with in_axes=None": """
        def noisy(key, x):
            return x + random.normal(key, x.shape)
        a = jax.vmap(noisy, in_axes=(None, 0))(key, jnp.ones((3, 2)))
    """,
    "vmap of a compiled function, the key not mapped": """
        noisy = jax.jit(lambda key, x: x * random.uniform(key))
        a = jax.vmap(noisy, in_axes=(None, 0))(raw, jnp.arange(3.0))
    """,
    "jit of vmap, the key not mapped": """
        noisy = lambda key, x: x * random.uniform(key)
        a = jax.jit(jax.vmap(noisy, in_axes=(None, 0)))(key, jnp.arange(3.0))
    """,
    "gradients of examples that share a key": """
        def loss(w, x, key):
            return jnp.sum(w * x * random.bernoulli(key, 0.5, x.shape))
        grads = jax.vmap(jax.grad(loss), in_axes=(None, 0, None))
        a = grads(jnp.ones(3), jnp.ones((4, 3)), key)
    """,
    "a row of keys mapped twice": """
        keys = random.split(key, 3)
        a = jax.vmap(random.normal)(keys)
        b = jax.vmap(random.uniform)(keys)
    """,
    "scan that closes over the key": """
        def step(x, _):
            return x + random.normal(key), None
        a, _ = lax.scan(step, 0.0, None, length=4)
    """,
    "scan that carries the key without splitting it": """
        def step(key, x):
            return key, x + random.normal(key)
        _, a = lax.scan(step, key, jnp.arange(4.0))
    """,
    "fori_loop that closes over the key": """
        a = lax.fori_loop(0, 4, lambda i, x: x + random.normal(key), 0.0)
    """,
    "fori_loop that splits the same key": """
        def step(i, x):
            k1, k2 = random.split(key)
            return x + random.normal(k1)
        a = lax.fori_loop(0, 4, step, 0.0)
    """,
    "while_loop whose condition draws": """
        a = lax.while_loop(
            lambda state: state[0] < random.uniform(state[1]),
            lambda state: (state[0] + 0.3, state[1]),
            (0.0, key),
        )
    """,
    "while_loop whose body does not split": """
        a = lax.while_loop(
            lambda state: state[0] < 2.0,
            lambda state: (state[0] + random.uniform(state[1]), state[1]),
            (0.0, key),
        )
    """,
    "a loop inside jit": """
        @jax.jit
        def f(key):
            return lax.fori_loop(0, 4, lambda i, x: x + random.normal(key), 0.0)
        a = f(key)
    """,
    "a draw after a branch that drew": """
        a = lax.cond(True, lambda k: random.normal(k), lambda k: random.uniform(k), key)
        b = random.normal(key)
    """,
    "a draw after a branch that perhaps drew": """
        @jax.jit
        def f(flag, key):
            a = lax.cond(flag, lambda k: random.normal(k), lambda k: 1.0, key)
            return a + random.uniform(key)
        a = f(True, key)
    """,
    "twice in one branch": """
        def both(k):
            return random.normal(k) + random.uniform(k)
        a = lax.cond(True, both, lambda k: 0.0, key)
    """,
    "twice under grad": """
        def loss(x):
            return x * random.normal(key) * random.uniform(key)
        a = jax.grad(loss)(2.0)
    """,
    "a loop inside grad that closes over the key": """
        def loss(x):
            def step(x, _):
                return x * random.normal(key), None
            return lax.scan(step, x, None, length=3)[0]
        a = jax.grad(loss)(2.0)
    """,
    "a loop inside vmap that carries one key": """
        def walk(x, key):
            def step(carry, _):
                x, key = carry
                key, sub = random.split(key)
                return (x + random.normal(sub), key), None
            return lax.scan(step, (x, key), None, length=3)[0][0]
        a = jax.vmap(walk, in_axes=(0, None))(jnp.arange(2.0), key)
    """,
    "keys that were stacked, and one of them": """
        k1, k2 = random.split(key)
        keys = jnp.stack([k1, k2])
        a = jax.vmap(random.normal)(keys)
        b = random.normal(k2)
    """,
    "raw keys that were concatenated, and one of them": """
        keys = random.split(raw, 3)
        more = jnp.concatenate([keys[:1], keys[2:]])
        a = jax.vmap(random.normal)(more)
        b = random.normal(keys[2])
    """,
    "keys that were stacked under jit": """
        @jax.jit
        def f(k1, k2):
            return jax.vmap(random.normal)(jnp.stack([k1, k2])) + random.uniform(k1)
        k1, k2 = random.split(key)
        a = f(k1, k2)
    """,
    "a custom derivative that draws twice": """
        @jax.custom_vjp
        def f(x, key):
            return x * random.normal(key) * random.uniform(key)
        f.defvjp(lambda x, k: (f(x, k), None), lambda _, ct: (ct, None))
        a = jax.jit(f)(2.0, key)
    """,
    "twice inside checkpoint": """
        @jax.checkpoint
        def f(x, key):
            return x * random.normal(key) + random.normal(key)
        a = jax.grad(f)(2.0, key)
    """,
}

NO_REUSE = {
    "one draw": """
        a = random.normal(key, (3,))
    """,
    "split, then each child once": """
        k1, k2 = random.split(key)
        a = random.normal(k1) + random.uniform(k2)
    """,
    "split a raw key, then each child once": """
        k1, k2 = random.split(raw)
        a = random.normal(k1) + random.uniform(k2)
    """,
    "a loop that splits": """
        for _ in range(5):
            key, sub = random.split(key)
            a = random.normal(sub)
    """,
    "a loop over children": """
        for k in random.split(key, 4):
            a = random.normal(k)
    """,
    "children by index": """
        keys = random.split(key, 4)
        for i in range(4):
            a = random.normal(keys[i])
    """,
    "children by slices": """
        keys = random.split(raw, 6)
        a = jax.vmap(random.normal)(keys[:3])
        b = jax.vmap(random.normal)(keys[3:])
    """,
    "a grid of keys": """
        keys = random.split(key, (2, 3))
        for row in keys:
            for k in row:
                a = random.normal(k)
    """,
    "every second key, then the others": """
        keys = random.split(key, 6)
        a = jax.vmap(random.normal)(keys[::2])
        b = random.normal(keys[1]) + random.normal(keys[3])
    """,
    "split and forget the parent": """
        random.split(key)
    """,
    "fold_in with different data": """
        for step in range(5):
            a = random.normal(random.fold_in(key, step))
    """,
    "a raw key with different data": """
        for step in range(5):
            a = random.normal(random.fold_in(raw, step))
    """,
    "a draw and children that are folded in": """
        a = random.normal(key)
        b = random.normal(random.fold_in(key, 1))
    """,
    "the same fold_in, used once": """
        first = random.fold_in(key, 3)
        a = random.normal(random.fold_in(key, 3))
    """,
    "a clone": """
        a = random.normal(key)
        b = random.normal(random.clone(key))
    """,
    "read, print, compare, store": """
        a = random.normal(key)
        str(key), repr(raw), key == key, random.key_data(key).tolist()
        table = {"key": key}
        np.asarray(raw), raw[0] + 1, bool((raw == raw).all())
    """,
    "the same seed again": """
        a = random.normal(random.key(3))
        b = random.normal(random.key(3))
    """,
    "no numbers at all": """
        a = random.normal(key, (0,))
        b = random.normal(key, (3,))
    """,
    "a vmap over no keys": """
        def f(key):
            k1, k2 = random.split(key)
            return random.bits(k1) + random.bits(k2)
        a = jax.vmap(f)(random.split(key, 0))
    """,
    "vmap over keys": """
        a = jax.vmap(random.normal)(random.split(key, 3))
    """,
    "vmap over raw keys that are split inside": """
        def f(key):
            k1, k2 = random.split(key)
            return random.normal(k1) + random.uniform(k2)
        a = jax.vmap(f)(random.split(raw, 3))
    """,
    "vmap with the number of the lane folded in": """
        def f(i):
            return random.normal(random.fold_in(key, i))
        a = jax.vmap(f)(jnp.arange(3))
    """,
    "vmap with a key for each lane taken from a row": """
        keys = random.split(key, 3)
        a = jax.vmap(lambda i: random.normal(keys[i]))(jnp.arange(3))
    """,
    "vmap that means the same numbers": """
        a = jax.vmap(lambda x: x + random.normal(random.clone(key)))(jnp.arange(3.0))
    """,
    "jit of vmap that means the same numbers": """
        noisy = lambda key, x: x * random.uniform(random.clone(key))
        a = jax.jit(jax.vmap(noisy, in_axes=(None, 0)))(key, jnp.arange(3.0))
    """,
    "one lane": """
        a = jax.vmap(lambda x: x + random.normal(key))(jnp.arange(1.0))
    """,
    "seeds inside vmap": """
        a = jax.vmap(lambda seed: random.normal(random.key(seed)))(jnp.arange(3))
        b = jax.vmap(lambda x: x + random.normal(random.key(1)))(jnp.arange(3.0))
    """,
    "jit with other keys": """
        f = jax.jit(lambda key: random.normal(key))
        k1, k2 = random.split(key)
        a = f(k1) + f(k2)
    """,
    "jit that is traced again": """
        f = jax.jit(lambda key, x: x + random.normal(key))
        k1, k2 = random.split(key)
        a = f(k1, 1.0)
        b = f(k2, jnp.ones(3))
    """,
    "jit that gives the new key back": """
        @jax.jit
        def step(key, x):
            key, sub = random.split(key)
            return key, x + random.normal(sub)
        x = 0.0
        for _ in range(4):
            key, x = step(key, x)
    """,
    "jit that does not use the key": """
        f = jax.jit(lambda key, x: x)
        a = random.normal(key)
        f(key, 1.0)
    """,
    "lowering without running": """
        f = jax.jit(lambda key: random.normal(key))
        f.lower(key)
        jax.eval_shape(f, key), jax.make_jaxpr(f)(key)
        a = f(key)
    """,
    "scan that splits the carry": """
        def step(key, x):
            key, sub = random.split(key)
            return key, x + random.normal(sub)
        _, a = lax.scan(step, key, jnp.arange(4.0))
    """,
    "scan over keys": """
        _, a = lax.scan(lambda c, k: (c, random.normal(k)), 0, random.split(key, 4))
    """,
    "fori_loop with the counter folded in": """
        def step(i, x):
            return x + random.normal(random.fold_in(key, i))
        a = lax.fori_loop(0, 4, step, 0.0)
    """,
    "fori_loop over a row of keys": """
        keys = random.split(key, 4)
        a = lax.fori_loop(0, 4, lambda i, x: x + random.normal(keys[i]), 0.0)
    """,
    "a loop of one step": """
        a, _ = lax.scan(lambda x, _: (x + random.normal(key), None), 0.0, None, length=1)
    """,
    "while_loop that splits": """
        def step(state):
            x, key = state
            key, sub = random.split(key)
            return x + random.uniform(sub), key
        a = lax.while_loop(lambda state: state[0] < 2.0, step, (0.0, key))
    """,
    "each branch once": """
        a = lax.cond(True, lambda k: random.normal(k), lambda k: random.uniform(k), key)
    """,
    "each branch once under jit": """
        @jax.jit
        def f(i, key):
            keep, key = random.split(key)
            a = lax.switch(i, [random.normal, random.uniform, lambda k: 0.0], key)
            return a + random.normal(keep)
        a = f(1, key)
    """,
    "gradient and value": """
        def loss(w, key):
            return jnp.sum(w * random.normal(key, (3,)))
        a = jax.value_and_grad(loss)(jnp.ones(3), key)
    """,
    "second derivatives": """
        def f(x):
            return jnp.sum(x**3) * random.normal(key)
        a = jax.hessian(f)(jnp.ones(2))
    """,
    "rows of a Jacobian": """
        a = jax.jacfwd(lambda x: x * random.normal(key, (3,)))(jnp.ones(3))
        k1, k2 = random.split(raw)
        b = jax.jacrev(lambda x: x * random.normal(k1, (3,)))(jnp.ones(3))
    """,
    "checkpoint computes again": """
        f = jax.checkpoint(lambda x, key: jnp.sin(x * random.normal(key)))
        a = jax.grad(f)(2.0, key)
    """,
    "checkpoint computes again under jit, in a scan": """
        @jax.checkpoint
        def step(x, k):
            return jnp.sin(x * random.normal(k)), None
        def f(x, key):
            return lax.scan(step, x, random.split(key, 3))[0]
        a = jax.jit(jax.grad(f))(2.0, key)
    """,
    "a backward pass twice": """
        y, pull = jax.vjp(lambda x: x * random.normal(key), 2.0)
        a = pull(1.0), pull(2.0)
    """,
    "a training loop": """
        def loss(w, x, key):
            return jnp.mean((x * random.bernoulli(key, 0.9, x.shape)) @ w) ** 2
        @jax.jit
        def step(w, x, key):
            return w - 0.1 * jax.grad(loss)(w, x, key)
        w = jnp.ones(3)
        for i in range(3):
            key, data, drop = random.split(key, 3)
            w = step(w, random.normal(data, (4, 3)), drop)
            float(w[0])
    """,
    "keys of different devices and forms": """
        moved = jax.device_put(key)
        a = random.normal(moved)
    """,
    "a custom derivative that draws in its forward rule": """
        @jax.custom_vjp
        def f(x, key):
            return x * random.normal(key)
        def forward(x, key):
            noise = random.normal(key)
            return x * noise, noise
        f.defvjp(forward, lambda noise, ct: (ct * noise, None))
        a = jax.grad(f)(2.0, key)
    """,
    "a custom derivative under jit": """
        @jax.custom_jvp
        def f(x, key):
            return x * random.normal(key)
        @f.defjvp
        def rule(primals, tangents):
            x, key = primals
            return x * random.normal(key), tangents[0]
        k1, k2 = random.split(key)
        a = jax.jit(jax.grad(f))(2.0, k1) + jax.jit(f)(2.0, k2)
    """,
    "walks with a key for each lane": """
        def walk(x, key):
            def step(carry, _):
                x, key = carry
                key, sub = random.split(key)
                return (x + random.normal(sub), key), None
            return lax.scan(step, (x, key), None, length=3)[0][0]
        a = jax.vmap(walk)(jnp.arange(2.0), random.split(key, 2))
        b = jax.jit(jax.vmap(walk))(jnp.arange(2.0), random.split(raw, 2))
    """,
    "branches by lane": """
        def f(flag, key):
            return lax.cond(flag, lambda k: random.normal(k), lambda k: random.uniform(k), key)
        a = jax.vmap(f)(jnp.array([True, False]), random.split(key, 2))
    """,
    "gradients through a loop over keys": """
        def loss(x, keys):
            step = lambda x, k: (x * random.normal(k), None)
            return lax.scan(jax.checkpoint(step), x, keys)[0]
        k1, k2 = random.split(key)
        a = jax.grad(loss)(2.0, random.split(k1, 3))
        b = jax.vmap(jax.grad(loss), in_axes=(0, None))(jnp.ones(1), random.split(k2, 3))
    """,
    "a key from a file": """
        saved = np.asarray(random.key_data(key))
        again = random.wrap_key_data(saved)
        a = random.normal(again)
    """,
    "keys for each layer, by name": """
        def init(key, sizes):
            keys = random.split(key, len(sizes))
            return {f"w{i}": random.normal(k, (n,)) for i, (k, n) in enumerate(zip(keys, sizes))}
        k1, k2 = random.split(key)
        params, others = init(k1, [2, 3]), init(k2, [4])
    """,
    "a generator of keys": """
        class Keys:
            def __init__(self, key):
                self.key = key
            def __next__(self):
                self.key, sub = random.split(self.key)
                return sub
        keys = Keys(key)
        for _ in range(3):
            a = random.normal(next(keys))
    """,
    "Monte Carlo in batches": """
        @jax.jit
        def estimate(key):
            def batch(total, k):
                kx, ky = random.split(k)
                x, y = random.uniform(kx, (10,)), random.uniform(ky, (10,))
                return total + jnp.sum(x * x + y * y < 1), None
            return lax.scan(batch, 0, random.split(key, 5))[0]
        a = estimate(key)
    """,
    "layers under checkpoint, scan, grad, vmap and jit": """
        def layer(x, k):
            return jnp.tanh(x + random.normal(k, x.shape)), None
        def net(x, keys):
            return jnp.sum(lax.scan(jax.checkpoint(layer), x, keys)[0])
        k1, k2 = random.split(key)
        a = jax.jit(jax.vmap(jax.grad(net)))(jnp.ones((2, 3)), random.split(k1, (2, 4)))
        b = jax.hessian(lambda x: net(x, random.split(k2)))(jnp.ones(2))
    """,
    "Metropolis chains": """
        def chain(key, x):
            def step(x, key):
                k1, k2 = random.split(key)
                new = x + random.normal(k1)
                accepted = random.uniform(k2) < jnp.exp(x * x - new * new)
                return jnp.where(accepted, new, x), x
            return lax.scan(step, x, random.split(key, 5))[1]
        a = jax.jit(jax.vmap(chain))(random.split(raw, 3), jnp.zeros(3))
    """,
    "the bootstrap": """
        def resampled(key, x):
            return jnp.mean(random.choice(key, x, x.shape))
        a = jax.vmap(resampled, in_axes=(0, None))(random.split(key, 9), jnp.arange(5.0))
    """,
    "branches in a loop that carries a raw key": """
        def body(i, carry):
            key, x = carry
            key, sub = random.split(key)
            x += lax.cond(i % 2 == 0, lambda k: random.normal(k), lambda k: 1.0, sub)
            return key, x
        a = lax.fori_loop(0, 4, body, (raw, 0.0))
    """,
    "the samplers, each with a key of its own": """
        for sub, draw in zip(random.split(key, 40), [
            lambda k: random.bernoulli(k, 0.3, (2,)), lambda k: random.beta(k, 1.0, 2.0),
            lambda k: random.binomial(k, 5, 0.3), lambda k: random.categorical(k, jnp.ones(3)),
            random.cauchy, lambda k: random.choice(k, 5, (2,), replace=False),
            lambda k: random.choice(k, 5, (2,), p=jnp.ones(5) / 5),
            lambda k: random.dirichlet(k, jnp.ones(3)), random.exponential,
            lambda k: random.gamma(k, 2.0), random.gumbel, random.laplace, random.logistic,
            lambda k: random.multivariate_normal(k, jnp.zeros(2), jnp.eye(2)),
            lambda k: random.normal(k, (2,), jnp.complex64), lambda k: random.pareto(k, 2.0),
            lambda k: random.permutation(k, 5), lambda k: random.poisson(k, 3.0),
            lambda k: random.randint(k, (3,), 0, 9), lambda k: random.t(k, 2.0),
            lambda k: random.truncated_normal(k, -1.0, 1.0), random.rademacher,
            lambda k: random.ball(k, 3), lambda k: random.weibull_min(k, 1.0, 2.0),
            lambda k: random.permutation(k, jnp.eye(3), independent=True),
            lambda k: random.maxwell(k), lambda k: random.orthogonal(k, 3),
        ]):
            draw(sub)
            jax.jit(draw)(random.fold_in(sub, 1))
            jax.vmap(draw)(random.split(random.fold_in(sub, 2), 2))
    """,
    "stacked and taken apart": """
        k1, k2 = random.split(key)
        keys = jnp.stack([k1, k2])
        a = random.normal(keys[0]) + random.normal(keys[1])
    """,
}
