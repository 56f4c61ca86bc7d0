"""Rules for larger functions of the library: sorts, segments, windows, factorisations."""

from __future__ import annotations

from generated.program import Do
from generated.scope import Known, Scope, Type, Unfit, joint
from generated.steps import Rule, binary, scaled, unary


def sorted_together(s: Scope) -> None:
    """lax.sort of keys and values, lax.top_k."""
    if s.style.smooth:
        raise Unfit
    x = s.pick(lambda v: v.ndim >= 1 and (v.is_float or v.is_int))
    if s.flip() and x.shape[-1]:
        k = s.number(1, x.shape[-1])
        shape = (*x.shape[:-1], k)
        made = [(Type(shape, x.dtype), x.bound), (Type(shape, "int32"), 2.0)]
        s.unpack(f"lax.top_k({x.name}, {k})", made)
        return
    y = s.pick(lambda v: v.shape == x.shape and v.is_number)
    axis = s.number(0, x.ndim - 1)
    count = 2 if s.rarely() and not y.is_complex else 1
    text = f"lax.sort(({x.name}, {y.name}), dimension={axis}, num_keys={count})"
    s.unpack(text, [(x.type, x.bound), (y.type, y.bound)])


def segmented(s: Scope) -> Known:
    """Sums by segments; places outside are left out."""
    x = s.pick(lambda v: v.ndim >= 1 and v.is_number)
    i = s.pick(lambda v: v.is_int and v.shape == x.shape[:1])
    count = s.number(1, 4)
    names = ["sum"] if s.style.smooth or not x.is_int else ["sum", "max", "min", "prod"]
    name = s.one_of(names)
    text = f"jax.ops.segment_{name}({x.name}, {i.name}, {count})"
    bound = x.bound * max(x.shape[0], 1)
    return s.let(text, (count, *x.shape[1:]), x.dtype, bound)


def convolved(s: Scope) -> Known:
    if s.style.half:
        raise Unfit
    fits = lambda v: v.ndim == 1 and v.size and v.is_float
    x = s.pick(fits)
    y = s.pick(lambda v: fits(v) and v.dtype == x.dtype and v.size <= 9)
    s.facts.exact = False
    mode = s.one_of(("full", "same", "valid"))
    n, m = x.size, y.size
    extent = {"full": n + m - 1, "same": max(n, m), "valid": abs(n - m) + 1}[mode]
    bound = x.bound * y.bound * min(n, m)
    text = f"jnp.convolve({x.name}, {y.name}, mode={mode!r})"
    return s.let(text, (extent,), x.dtype, bound)


def solved(s: Scope) -> Known:
    """Factorisations of matrices far from singular ones."""
    if not s.style.products or s.style.half:
        raise Unfit
    a = s.pick(lambda v: v.ndim >= 2 and v.is_float and 0 < v.shape[-2] <= 5)
    if a.dtype not in ("float32", "float64"):
        raise Unfit
    n = a.shape[-2]
    square = f"(6 * jnp.eye({n}, dtype={a.dtype!r}) + jnp.einsum('...ij,...kj->...ik', "
    square += f"jnp.sin({a.name}), jnp.cos({a.name})) / {max(a.shape[-1], 1)})"
    even = f"({square} + jnp.swapaxes({square}, -1, -2))"
    s.facts.exact = False
    whole = (*a.shape[:-2], n, n)
    text, shape = s.one_of((
        (f"jnp.linalg.inv({square})", whole),
        (f"jnp.linalg.cholesky({even})", whole),
        (f"jnp.linalg.det({square} / 6)", a.shape[:-2]),
        (f"jnp.linalg.slogdet({square})[1]", a.shape[:-2]),
        (f"jnp.linalg.solve({square}, {a.name})", a.shape),
    ))  # fmt: skip
    return s.let(text, shape, a.dtype, 20.0)


def assembled(s: Scope) -> Known:
    """Smaller functions of jax.numpy."""
    x = s.pick(lambda v: 1 <= v.ndim <= 2 and v.is_float and v.size)
    n, last = x.ndim, x.shape[-1]
    pair = [v for v in s.values if v.type == x.type and v.bound <= 5] or [x]
    y = s.one_of(pair)
    flat = (x.size, y.size)
    choices = [
        (f"jnp.diff({x.name}, axis=-1)", (*x.shape[:-1], last - 1), 2 * x.bound),
        (f"jnp.outer({x.name}, {y.name})", flat, x.bound * y.bound),
        (f"jnp.logaddexp({x.name}, {y.name})", x.shape, x.bound + y.bound + 1),
        (f"jnp.polyval({x.name}.ravel()[:3], jnp.sin({y.name}))", x.shape, 3 * x.bound),
        (f"jnp.vander({x.name}.ravel()[:4] / 3, 3)", (min(x.size, 4), 3), 3.0),
        (f"jnp.select([{y.name} > 0.37, {y.name} < -1.3], [{x.name}, -{x.name}], 0.7)",
         x.shape, x.bound + 1),
        (f"lax.clamp(jnp.array(-0.7, {x.dtype!r}), {x.name}, jnp.array(1.1, {x.dtype!r}))",
         x.shape, 1.1),
        (f"jnp.median({x.name}, axis=-1)", x.shape[:-1], x.bound),
        (f"jnp.ptp({x.name}, axis=0)", x.shape[1:], 2 * x.bound),
        (f"lax.reduce({x.name}, jnp.array(0, {x.dtype!r}), lax.add, (0,))", x.shape[1:],
         x.bound * x.shape[0]),
        (f"jnp.apply_along_axis(lambda r: r * jnp.sum(r), 0, {x.name})", x.shape,
         x.bound**2 * x.shape[0]),
    ]  # fmt: skip
    if n == 2:
        choices += [
            (f"jnp.tril({x.name})", x.shape, x.bound),
            (f"jnp.rot90({x.name})", x.shape[::-1], x.bound),
            (f"jnp.trace({x.name})", (), x.bound * max(x.shape)),
            (f"jnp.diagonal({x.name})", (min(x.shape),), x.bound),
        ]
    rough = ("select", "clamp", "median", "ptp")
    text, shape, bound = s.one_of(choices)
    if s.style.smooth and any(r in text for r in rough):
        raise Unfit
    return s.let(text, shape, x.dtype, bound)


def looked_up_between(s: Scope) -> Known:
    """searchsorted, interp, one_hot, bincount."""
    if s.style.smooth:
        raise Unfit
    x = s.pick(lambda v: v.ndim == 1 and v.is_float and v.size)
    kind = s.number(0, 2)
    y = s.pick(lambda v: v.is_float and v.dtype == x.dtype)
    if kind == 0:
        text = f"jnp.searchsorted(jnp.sort({x.name}), {y.name} + 0.137)"
        return s.let(text, y.shape, "int32")
    if kind == 1:
        text = f"jnp.interp({y.name}, jnp.sort({x.name}), {x.name})"
        return s.let(text, y.shape, x.dtype, x.bound)
    i = s.pick(lambda v: v.is_int and v.ndim <= 1)
    text = f"jax.nn.one_hot({i.name}, 4, dtype={x.dtype!r})"
    return s.let(text, (*i.shape, 4), x.dtype, 1.0)


def repeated_by_python(s: Scope) -> None:
    """A loop of Python, long enough for eager code to notice that it repeats."""
    if s.outer:
        raise Unfit
    x = s.pick(lambda v: v.is_float and v.size <= 40)
    if x not in s.values:
        raise Unfit
    y = s.pick(
        lambda v: (
            v is not x and v.dtype == x.dtype and joint(v.shape, x.shape) == x.shape
        )
    )
    text = s.one_of((
        "jnp.sin({x}) * 0.9 + {y}", "jnp.tanh({x} + {y}) * 1.1", "{x} * 0.5 + {y}",
        "({x} - {y} * 0.3)[::-1] * 0.7" if x.ndim else "jnp.cos({x} * {y})",
        "{x}.at[0].add(0.1) * 0.9" if x.size and x.ndim else "jnp.cos({x})",
        "jnp.where({x} > {y}, {x} * 0.7, {y})" if not s.style.smooth else "jnp.cos({x})",
    )).format(x=x.name, y=y.name)  # fmt: skip
    count = s.one_of((3, 40, 130))
    if x.bound > 5 or y.bound > 5:
        raise Unfit
    s.body.append(Do(f"for _ in range({count}): {x.name} = {text}"))
    s.values.remove(x)
    bound = 2 * (x.bound + 2 * y.bound)
    s.values.append(Known(x.shape, x.dtype, x.name, bound))


CALLED: tuple[Rule, ...] = (
    sorted_together, segmented, convolved, solved, assembled, assembled,
    looked_up_between, repeated_by_python,
)  # fmt: skip
EAGER: tuple[Rule, ...] = (
    repeated_by_python, repeated_by_python, unary, binary, scaled,
)  # fmt: skip
