"""einops on arrays: rearrange, reduce, repeat, einsum, pack, and their gradients."""

import einops
import jax
import jax.numpy as jnp
import numpy as np

X = np.random.default_rng(0).normal(size=(2, 4, 6, 3)).astype(np.float32)


def rearrange():
    x = jnp.asarray(X)
    return [
        einops.rearrange(x, "b h w c -> b c h w"),
        einops.rearrange(x, "b (h p) (w q) c -> (b h w) (p q c)", p=2, q=3),
        einops.rearrange([x[0], x[1]], "b h w c -> (b h) w c"),
        einops.rearrange(x, "b ... c -> (...) (b c)"),
        einops.rearrange(x, "b h w c -> b (h w c)") + 1,
    ]


def reduce():
    x = jnp.asarray(X)
    kinds = ["min", "max", "sum", "mean", "prod"]
    found = [einops.reduce(x, "b (h p) w c -> b h c", kind, p=2) for kind in kinds]
    found.append(einops.reduce(x > 0, "b h w c -> h", "any"))
    found.append(einops.reduce(x > 0, "b h w c -> h", "all"))
    found.append(einops.reduce(x, "b h w c -> b h", lambda x, axes: x.std(axes)))
    return found


def repeat():
    x = jnp.asarray(X[0, :, :, 0])
    return [
        einops.repeat(x, "h w -> h w c", c=3),
        einops.repeat(x, "h w -> (h p) (w q)", p=2, q=3),
        einops.repeat(x, "h w -> n (w h)", n=2),
    ]


def einsum():
    x = jnp.asarray(X)
    return [
        einops.einsum(x, x, "b h w c, b h w d -> b c d"),
        einops.einsum(x, "batch row column channel -> channel batch"),
    ]


def pack():
    x = jnp.asarray(X)
    packed, shapes = einops.pack([x[0], x[0, :, :, 0]], "h w *")
    first, second = einops.unpack(packed, shapes, "h w *")
    return [packed, shapes, first, second]


def transformed():
    def loss(x):
        patches = einops.rearrange(x, "(h p) (w q) c -> h w (p q c)", p=2, q=3)
        return jnp.sum(einops.reduce(patches**2, "h w c -> c", "max"))

    x = jnp.asarray(X)
    return [
        jax.jit(jax.vmap(loss))(x),
        jax.vmap(jax.grad(loss))(x),
        jax.grad(lambda x: einops.reduce(x**2, "a b -> ", "mean"))(x[0, 0]),
    ]


def words():
    """Errors of einops name the shape of the array."""
    try:
        einops.rearrange(jnp.ones((2, 3)), "a b c -> c b a")
    except einops.EinopsError as error:
        return str(error)


def layers():
    parsed = einops.parse_shape(jnp.asarray(X), "b h w _")
    return [parsed, einops.asnumpy(jnp.asarray(X[0, 0]))]


CASES = {
    "rearrange": rearrange,
    "reduce": reduce,
    "repeat": repeat,
    "einsum": einsum,
    "pack": pack,
    "transformed": transformed,
    "words": words,
    "layers": layers,
}
