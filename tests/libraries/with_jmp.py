"""jmp: mixed-precision policies and loss scaling."""

import jax
import jax.numpy as jnp
import jmp
import numpy as np


def policies():
    policy = jmp.get_policy("params=float32,compute=float16,output=bfloat16")
    tree = {"w": jnp.ones((2, 2)), "n": jnp.arange(3), "s": 1.5}
    return {
        "compute": policy.cast_to_compute(tree),
        "output": policy.cast_to_output(tree),
        "param": policy.cast_to_param(policy.cast_to_compute(tree)),
        "half": jmp.half_dtype().__name__,
        "text": str(jmp.get_policy("half")),
        "single": str(jmp.get_policy("float32")),
        "full": jmp.cast_to_full(tree),
        "other": policy.with_output_dtype(jnp.float32).cast_to_output(tree),
    }


def train(scale):
    """Twenty steps of gradient descent in float16; one gradient overflows."""

    def case():
        policy = jmp.get_policy("params=float32,compute=float16,output=float32")
        rng = np.random.default_rng(0)
        x = jnp.asarray(rng.normal(size=(16, 4)), jnp.float32)
        y = jnp.asarray(rng.normal(size=16), jnp.float32)

        def loss(w, state):
            w, x16, y16 = policy.cast_to_compute((w, x, y))
            return state.scale(policy.cast_to_output(jnp.mean((x16 @ w - y16) ** 2)))

        @jax.jit
        def step(w, state):
            grads = state.unscale(jax.grad(loss)(w, state))
            finite = jmp.all_finite(grads)
            state = state.adjust(finite)
            return jmp.select_tree(finite, w - 0.1 * grads, w), state, finite

        w, state, all_finite = jnp.zeros(4), scale(), []
        for _ in range(20):
            w, state, finite = step(w, state)
            all_finite.append(finite)
        # Products in float16 round differently; what the scale did must agree.
        return {
            "w": np.round(np.asarray(w), 2),
            "finite": jnp.stack(all_finite),
            "scale": state.loss_scale,
        }

    return case


def finite():
    bad = {"a": jnp.ones(2), "b": jnp.asarray([1.0, jnp.inf])}
    return [
        jmp.all_finite(bad),
        jmp.all_finite({"a": jnp.ones(2), "n": jnp.arange(2)}),
        jmp.select_tree(jnp.array(False), bad, {"a": jnp.zeros(2), "b": jnp.zeros(2)}),
    ]


CASES = {
    "policies": policies,
    "none": train(jmp.NoOpLossScale),
    "static": train(lambda: jmp.StaticLossScale(128.0)),
    "dynamic": train(
        lambda: jmp.DynamicLossScale(jnp.asarray(2.0**20), period=5, factor=4)
    ),
    "finite": finite,
}
