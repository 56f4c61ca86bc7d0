"""Rules for straight-line code: elementwise, shapes, reductions, indexing, products."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from generated.scope import Known, Scope, Shape, Unfit, joint, promoted

Rule = Callable[[Scope], object]

# ----------------------------------------------------------------------- elementwise

# Text, and the bound of the result from the bound of the operand.
SMOOTH: tuple[tuple[str, Callable[[float], float]], ...] = (
    ("jnp.sin({})", lambda b: 1.0),
    ("jnp.tanh({})", lambda b: 1.0),
    ("jnp.cos({})", lambda b: 1.0),
    ("-{}", lambda b: b),
    ("jnp.square({})", lambda b: b * b),
    ("{} * {}", lambda b: b * b),
    ("{} ** 3", lambda b: b**3),
    ("jnp.arctan({})", lambda b: 1.6),
    ("jax.nn.sigmoid({})", lambda b: 1.0),
    ("jax.nn.softplus({})", lambda b: b + 1),
    ("jax.nn.gelu({})", lambda b: b),
    ("jnp.exp(jnp.sin({}))", lambda b: 2.8),
    ("jnp.exp(-jnp.square({}))", lambda b: 1.0),
    ("jnp.log1p(jnp.square({}))", lambda b: 2 + b),
    ("jnp.sqrt(1.5 + jnp.square({}))", lambda b: 2 + b),
    ("lax.rsqrt(1.5 + jnp.square({}))", lambda b: 1.0),
    ("lax.erf({})", lambda b: 1.0),
    ("jnp.sinh(jnp.tanh({}))", lambda b: 1.2),
    ("lax.lgamma(2.5 + jnp.square({}))", lambda b: 2 + b * b),
    ("jnp.arcsinh({})", lambda b: 2 + b),
    ("lax.expm1(jnp.tanh({}))", lambda b: 1.8),
)
ROUGH: tuple[tuple[str, Callable[[float], float]], ...] = (
    ("jnp.abs({})", lambda b: b),
    ("jax.nn.relu({})", lambda b: b),
    ("jnp.floor({} * 2.7 + 0.31)", lambda b: 3 * b + 1),
    ("jnp.sign({} - 0.37)", lambda b: 1.0),
    ("jnp.round({} * 2.7 + 0.31)", lambda b: 3 * b + 2),
    ("jnp.clip({}, -0.7, 1.1)", lambda b: 1.1),
    ("lax.stop_gradient({})", lambda b: b),
    ("jax.nn.leaky_relu({})", lambda b: b),
)
COMPLEX = ("jnp.sin({} * 0.37)", "jnp.conj({})", "-{}", "{} * (0.7 - 0.3j)",
           "jnp.exp({} * 0.19)", "jnp.tanh({} * 0.23)")  # fmt: skip
INTEGER = ("-{}", "jnp.abs({})", "~{}", "lax.population_count({})", "{} * 3 + 1",
           "lax.clz({})", "{} // 2", "{} % 3", "jnp.sign({})", "jnp.clip({}, 1, 3)")  # fmt: skip


def unary(s: Scope) -> Known:
    x = s.pick()
    if x.is_float:
        table = SMOOTH if s.style.smooth or not s.rarely() else ROUGH
        text, grow = s.one_of(table)
        if x.bound > 8 and grow(2.0) > 4:
            raise Unfit
        return s.let(text.replace("{}", x.name), x.shape, x.dtype, grow(x.bound))
    if x.is_complex:
        if x.bound > 8:
            raise Unfit
        return s.let(s.one_of(COMPLEX).format(x.name), x.shape, x.dtype, x.bound + 3)
    return s.let(s.one_of(INTEGER).replace("{}", x.name), x.shape, x.dtype)


def partner(s: Scope, x: Known) -> Known:
    """A value that broadcasts with x."""
    return s.pick(lambda v: v.is_number and joint(x.shape, v.shape) is not None)


def binary(s: Scope) -> Known:
    x = s.pick()
    y = partner(s, x)
    shape = joint(x.shape, y.shape)
    assert shape is not None
    dtype = promoted(x.dtype, y.dtype)
    if "int" in dtype:
        text = s.one_of((
            "{x} + {y}", "{x} - {y}", "{x} * {y}", "jnp.minimum({x}, {y})",
            "{x} // (jnp.abs({y}) % 5 + 1)", "{x} % (jnp.abs({y}) % 5 + 2)", "{x} ^ {y}",
            "{x} & {y}", "{x} << ({y} % 4)", "{x} >> (jnp.abs({y}) % 5)",
        ))  # fmt: skip
        return s.let(text.format(x=x.name, y=y.name), shape, dtype)
    a = f"({x.name} % 5)" if x.is_int else x.name
    b = f"({y.name} % 5)" if y.is_int else y.name
    m, n = (5.0 if v.is_int else v.bound for v in (x, y))
    choices = [("{x} + {y}", m + n), ("{x} - {y}", m + n), ("{x} * {y}", m * n)]
    if not dtype.startswith("complex"):
        choices.append(("{x} / (1.9 + jnp.square({y}))", m))
        if x.is_float and y.is_float:
            choices.append(("jnp.arctan2({x}, 1.9 + jnp.square({y}))", 1.6))
            choices.append(("jnp.hypot({x}, 1.9 + jnp.square({y}))", m + n * n + 2))
        if not s.style.smooth:
            choices.append(("jnp.maximum({x}, {y} + 0.137)", max(m, n + 1)))
            choices.append(("jnp.minimum({x}, {y} - 0.137)", max(m, n + 1)))
            choices.append(("jnp.where({x} < {y} * 0.71 + 0.137, {x}, {y})", max(m, n)))
    else:
        choices.append(("{x} / (3.1 + jnp.square(jnp.abs({y})))", m))
    text, bound = s.one_of(choices)
    return s.let(text.format(x=a, y=b), shape, dtype, bound)


def scaled(s: Scope) -> Known:
    """With a Python number."""
    x = s.pick(lambda v: v.is_float)
    text = s.one_of(("{} * {c}", "{} + {c}", "{c} - {}", "{} / 1.7", "2 * {}"))
    return s.let(text.format(x.name, c=s.constant()), x.shape, x.dtype, 2 * x.bound + 2)


def logical(s: Scope) -> Known:
    if s.style.smooth:
        raise Unfit
    x = s.pick(lambda v: v.is_float or v.is_int or v.is_bool)
    if x.is_bool:
        y = s.pick(lambda v: v.is_bool and joint(x.shape, v.shape) is not None)
        text = s.one_of(("{} & {}", "{} | {}", "{} ^ {}", "~{}"))
        shape = joint(x.shape, y.shape) if text != "~{}" else x.shape
        assert shape is not None
        return s.let(text.format(x.name, y.name), shape, "bool")
    if x.is_int:
        text = s.one_of(("{} == 1", "{} > 0", "{} != 2", "{} % 2 == 0"))
        return s.let(text.format(x.name), x.shape, "bool")
    text = s.one_of(("{} > {c}", "{} < {c}", "{} * 2.1 >= {c}"))
    return s.let(text.format(x.name, c=s.constant()), x.shape, "bool")


def choose(s: Scope) -> Known:
    p = s.pick(lambda v: v.is_bool)
    x = s.pick(lambda v: v.is_number and joint(p.shape, v.shape) is not None)
    shape = joint(p.shape, x.shape)
    assert shape is not None
    y = s.pick(lambda v: v.dtype == x.dtype and joint(shape, v.shape) is not None)
    whole = joint(shape, y.shape)
    assert whole is not None
    text = f"jnp.where({p.name}, {x.name}, {y.name})"
    return s.let(text, whole, x.dtype, max(x.bound, y.bound))


def convert(s: Scope) -> Known:
    x = s.pick(lambda v: v.is_number or v.is_bool)
    if s.style.half and x.is_float:
        other = "float32" if x.dtype == s.style.half else s.style.half
        return s.let(f"{x.name}.astype({other!r})", x.shape, other, x.bound)
    if x.is_complex:
        text = s.one_of(("jnp.real({})", "jnp.imag({})", "jnp.square(jnp.abs({}))"))
        if text.startswith("jnp.sq"):
            if s.style.smooth:
                text = "jnp.square(jnp.real({})) + jnp.square(jnp.imag({}))"
            bound = x.bound**2 * 2
        else:
            bound = x.bound
        dtype = "float64" if x.dtype == "complex128" else "float32"
        return s.let(text.replace("{}", x.name), x.shape, dtype, bound)
    if x.is_float:
        if s.style.smooth or s.flip():
            y = s.pick(lambda v: v.type == x.type)
            wide = "complex128" if x.dtype == "float64" else "complex64"
            text = f"lax.complex({x.name}, {y.name})"
            return s.let(text, x.shape, wide, x.bound + y.bound)
        if s.style.x64 and not s.style.smooth and s.flip():
            other = "float32" if x.dtype == "float64" else "float64"
            return s.let(f"{x.name}.astype({other!r})", x.shape, other, x.bound)
        text = f"jnp.floor({x.name} * 2.7 + 0.31).astype({s.style.int!r})"
        return s.let(text, x.shape, s.style.int)
    if x.is_bool:
        return s.let(f"{x.name}.astype({s.style.int!r})", x.shape, s.style.int)
    text = f"({x.name} % 5).astype({s.style.float!r})"
    return s.let(text, x.shape, s.style.float, 5.0)


# ----------------------------------------------------------------------------- shapes


def placed(axes: list[int], ndim: int) -> str:
    return str(tuple(axes)) if len(axes) != 1 else str(axes[0])


def moved(s: Scope) -> Known:
    x = s.pick(lambda v: v.ndim >= 1)
    n = x.ndim
    axis = s.number(0, n - 1)
    kind = s.one_of(("flip", "roll", "T", "ravel", "expand", "swap", "repeat", "tile"))
    shape: Shape = x.shape
    if kind == "flip":
        text = f"jnp.flip({x.name}, {axis})"
    elif kind == "roll":
        text = f"jnp.roll({x.name}, {s.one_of((1, -2, 3))}, {axis})"
    elif kind == "T":
        text, shape = f"{x.name}.T", shape[::-1]
    elif kind == "ravel":
        text, shape = f"{x.name}.ravel()", (x.size,)
    elif kind == "expand":
        at = s.number(0, n)
        text = f"jnp.expand_dims({x.name}, {at})"
        shape = (*shape[:at], 1, *shape[at:])
    elif kind == "swap":
        text = f"jnp.moveaxis({x.name}, {axis}, 0)"
        shape = (shape[axis], *shape[:axis], *shape[axis + 1 :])
    elif kind == "repeat":
        text = f"jnp.repeat({x.name}, 2, axis={axis})"
        shape = (*shape[:axis], 2 * shape[axis], *shape[axis + 1 :])
    else:
        text = f"jnp.tile({x.name}, (2,{' 1,' * (n - 1)}))"
        shape = (2 * shape[0], *shape[1:])
    return s.let(text, shape, x.dtype, x.bound)


def reshaped(s: Scope) -> Known:
    x = s.pick(lambda v: v.ndim >= 1)
    n = x.ndim
    shape = list(x.shape)
    if n > 1 and s.flip():
        at = s.number(0, n - 2)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    else:
        at = s.number(0, n - 1)
        part = next((p for p in (2, 3, 5) if shape[at] % p == 0 and shape[at]), 1)
        shape[at : at + 1] = [part, shape[at] // part]
    return s.let(f"{x.name}.reshape({tuple(shape)})", tuple(shape), x.dtype, x.bound)


def squeezed(s: Scope) -> Known:
    x = s.pick(lambda v: 1 in v.shape)
    at = x.shape.index(1)
    shape = (*x.shape[:at], *x.shape[at + 1 :])
    return s.let(f"jnp.squeeze({x.name}, {at})", shape, x.dtype, x.bound)


def stretched(s: Scope) -> Known:
    x = s.pick(lambda v: v.ndim <= 2)
    shape = (s.one_of((1, 2, 3, 5)), *x.shape)
    return s.let(f"jnp.broadcast_to({x.name}, {shape})", shape, x.dtype, x.bound)


def joined(s: Scope) -> Known:
    x = s.pick(lambda v: v.ndim >= 1 and v.ndim <= 3)
    axis = s.number(0, x.ndim - 1)

    def fits(v: Known) -> bool:
        return (
            v.dtype == x.dtype
            and v.ndim == x.ndim
            and all(
                a == b for k, (a, b) in enumerate(zip(v.shape, x.shape)) if k != axis
            )
        )

    y = s.pick(fits)
    bound = max(x.bound, y.bound)
    if x.shape == y.shape and s.rarely():
        shape = (*x.shape[:axis], 2, *x.shape[axis:])
        text = f"jnp.stack([{x.name}, {y.name}], axis={axis})"
    else:
        both = x.shape[axis] + y.shape[axis]
        shape = (*x.shape[:axis], both, *x.shape[axis + 1 :])
        text = f"jnp.concatenate([{x.name}, {y.name}], axis={axis})"
    return s.let(text, shape, x.dtype, bound)


def padded(s: Scope) -> Known:
    x = s.pick(lambda v: 1 <= v.ndim <= 3 and v.is_number)
    axis = s.number(0, x.ndim - 1)
    config = [(0, 0, 0)] * x.ndim
    low, high, inner = s.number(-1, 2), s.number(-1, 2), s.number(0, 2)
    extent = x.shape[axis]
    made = low + high + extent + max(extent - 1, 0) * inner
    if made < 0 or extent + min(low, 0) + min(high, 0) < 0:
        raise Unfit
    config[axis] = (low, high, inner)
    shape = (*x.shape[:axis], made, *x.shape[axis + 1 :])
    zero = f"jnp.zeros((), {x.dtype!r})"
    return s.let(f"lax.pad({x.name}, {zero}, {config})", shape, x.dtype, x.bound)


# -------------------------------------------------------------------------- reductions


def without(shape: Shape, axes: list[int], keep: bool) -> Shape:
    if keep:
        return tuple(1 if k in axes else n for k, n in enumerate(shape))
    return tuple(n for k, n in enumerate(shape) if k not in axes)


def folded(s: Scope) -> Known:
    x = s.pick(lambda v: v.ndim >= 1)
    if x.is_complex and s.style.smooth and x.bound > 3:
        raise Unfit
    axes = sorted({s.number(0, x.ndim - 1) for _ in range(s.number(1, 2))})
    count = 1
    for axis in axes:
        count *= x.shape[axis]
    keep = s.flip()
    dtype, bound = x.dtype, x.bound
    if x.is_bool:
        name = s.one_of(("any", "all"))
    elif x.is_int:
        name = s.one_of(("sum", "max", "min", "prod"))
    elif x.is_complex:
        name, bound = "sum", bound * count
    else:
        names = ["sum", "mean", "var", "nn.logsumexp"]
        names += [] if s.style.smooth else ["max", "min"]
        if count <= 5 and bound <= 1.9:
            names.append("prod")
        name = s.one_of(names)
        if name in ("sum", "var"):
            bound = bound * count if name == "sum" else bound**2
        elif name == "nn.logsumexp":
            bound += 10
        elif name == "prod":
            bound = bound**count
    if not count and name in ("max", "min", "mean", "var", "nn.logsumexp"):
        raise Unfit
    head = "jax." if name.startswith("nn.") else "jnp."
    kept = ", keepdims=True" if keep else ""
    if x.is_int and name in ("sum", "prod"):
        kept += f", dtype={dtype!r}"
    text = f"{head}{name}({x.name}, axis={placed(axes, x.ndim)}{kept})"
    return s.let(text, without(x.shape, axes, keep), dtype, bound)


def running(s: Scope) -> Known:
    x = s.pick(lambda v: v.ndim >= 1 and (v.is_int or v.is_float))
    axis = s.number(0, x.ndim - 1)
    extent = x.shape[axis]
    names = ["jnp.cumsum", "lax.cumsum"]
    if not s.style.smooth:
        names += ["lax.cummax", "lax.cummin", "jnp.sort", "jnp.argsort", "jnp.argmax"]
    if x.is_float and extent <= 4 and x.bound <= 1.9:
        names.append("lax.cumprod")
    if x.is_float:
        names += ["lax.cumlogsumexp", "jax.nn.softmax"]
    name = s.one_of(names)
    dtype, shape, bound = x.dtype, x.shape, x.bound
    more = f"{axis}" if not name.startswith("lax") else f"axis={axis}"
    if name.startswith("lax") and s.rarely():
        more += ", reverse=True"
    if name == "jnp.cumsum" and x.is_int:
        more += f", dtype={x.dtype!r}"
    if name.endswith("cumsum"):
        bound = bound * max(extent, 1)
    elif name == "lax.cumprod":
        bound = bound ** max(extent, 1)
    elif name == "lax.cumlogsumexp":
        bound = bound + 10
    elif name in ("jnp.argsort", "jnp.argmax"):
        dtype = s.style.int
        if name == "jnp.argmax":
            shape = without(shape, [axis], False)
            if not extent:
                raise Unfit
    return s.let(f"{name}({x.name}, {more})", shape, dtype, bound)


# ---------------------------------------------------------------------------- indexing


def taken(s: Scope) -> Known:
    """Places that are known."""
    x = s.pick(lambda v: v.ndim >= 1)
    n = x.shape[0]
    rest = x.shape[1:]
    kind = s.number(0, 4)
    if kind == 0 and n:
        return s.let(f"{x.name}[{s.number(-n, n - 1)}]", rest, x.dtype, x.bound)
    if kind == 1 and n:
        places = [s.number(-n, n - 1) for _ in range(s.number(1, 4))]
        text = f"{x.name}[np.array({places})]"
        return s.let(text, (len(places), *rest), x.dtype, x.bound)
    if kind == 2:
        return s.let(f"{x.name}[..., None]", (*x.shape, 1), x.dtype, x.bound)
    axis = s.number(0, x.ndim - 1)
    low, step = s.number(0, 2), s.one_of((1, 2, -1))
    part = slice(None if step < 0 else low, None, step)
    count = len(range(x.shape[axis])[part])
    key = f"{'' if part.start is None else part.start}::{step}"
    shape = (*x.shape[:axis], count, *x.shape[axis + 1 :])
    return s.let(f"{x.name}[{':, ' * axis}{key}]", shape, x.dtype, x.bound)


def number_of(s: Scope) -> str:
    """A scalar integer that is computed."""
    return str(s.pick(lambda v: v.is_int and not v.ndim).name)


def looked_up(s: Scope) -> Known:
    """Places that are computed, some of them out of bounds."""
    x = s.pick(lambda v: v.ndim >= 1 and v.shape[0] and v.is_number)
    rest = x.shape[1:]
    if s.flip():
        i = s.pick(lambda v: v.is_int and v.ndim <= 2)
        shape = (*i.shape, *rest)
        modes = [
            "{x}[{i} % {n}]", "jnp.take({x}, {i}, axis=0, mode='clip')",
            "{x}.at[{i}].get(mode='fill', fill_value=0)",
        ]  # fmt: skip
        if not s.style.forward:  # reading clips, its transpose drops
            modes.append("{x}[{i}]")
        text = s.one_of(modes).replace("{n}", str(x.shape[0]))
        return s.let(text.format(x=x.name, i=i.name), shape, x.dtype, x.bound)
    i = number_of(s)
    size = s.number(1, x.shape[0])
    kind = s.number(0, 2)
    if kind == 0:
        text = f"lax.dynamic_slice_in_dim({x.name}, {i}, {size})"
        return s.let(text, (size, *rest), x.dtype, x.bound)
    if kind == 1:
        text = f"lax.dynamic_index_in_dim({x.name}, {i}, keepdims=False)"
        return s.let(text, rest, x.dtype, x.bound)
    y = s.pick(lambda v: v.is_int and v.shape == x.shape)
    text = f"jnp.take_along_axis({x.name}, {y.name} % {x.shape[0]}, axis=0)"
    return s.let(text, x.shape, x.dtype, x.bound)


def updated(s: Scope) -> Known:
    """x.at[...]: a new value, whose memory may be the old one's."""
    x = s.pick(lambda v: v.ndim >= 1 and v.shape[0] and v.is_number)
    if x.bound > 8:
        raise Unfit
    rest = x.shape[1:]
    kind = s.number(0, 4)
    if kind == 0:
        key, count = str(s.number(-x.shape[0], x.shape[0] - 1)), None
    elif kind == 1:
        key, count = number_of(s), None
    elif kind == 2:
        low = s.number(0, x.shape[0] - 1)
        key, count = f"{low}:", x.shape[0] - low
    else:
        i = s.pick(lambda v: v.is_int and v.ndim == 1)
        key, count = i.name, i.shape[0]
    shape = rest if count is None else (count, *rest)
    if kind == 4 or (kind == 3 and s.style.smooth):
        how = "add"
    else:
        names = ["add", "set", "multiply"] + ([] if s.style.smooth else ["max", "min"])
        how = s.one_of(names)
    if how == "set" and kind == 3:
        key = f"np.arange({count}) % {x.shape[0]}" if count else "np.arange(0)"
        if count and count > x.shape[0]:
            raise Unfit
    if x.is_complex and how in ("max", "min"):
        raise Unfit
    if how == "multiply" and kind == 3 and not x.is_int:  # needs unique_indices
        raise Unfit
    fitting = [
        v for v in reversed(s.values) if v.shape in (shape, ()) and v.dtype == x.dtype
    ]
    new = s.one_of(fitting) if fitting and not s.rarely() else None
    text, size = (new.name, new.bound) if new else ("2", 2.0)
    count = max(count or 1, 1)
    bound = {"add": x.bound + size * count, "multiply": x.bound * size ** min(count, 9)}
    made = f"{x.name}.at[{key}].{how}({text})"
    return s.let(made, x.shape, x.dtype, bound.get(how, max(x.bound, size)))


def any_key(s: Scope, x: Known) -> tuple[str, Shape]:
    """An index of all axes by all kinds of entries, and the shape of what it reads."""
    texts: list[str] = []
    samples: list[object] = []
    for extent in x.shape[: s.number(1, x.ndim)]:
        if s.rarely():
            texts.append("None")
            samples.append(None)
        kind = s.number(0, 4)
        if kind == 0 and extent:
            at = s.number(-extent, extent - 1)
            texts.append(str(at))
            samples.append(at)
        elif kind == 1:
            low, step = s.number(-3, 3), s.one_of((1, 2, -1))
            texts.append(f"{low}::{step}")
            samples.append(slice(low, None, step))
        elif kind == 2 and extent:
            i = s.pick(lambda v: v.is_int and v.ndim <= 1)
            texts.append(f"{i.name} % {extent}")
            samples.append(np.zeros(i.shape, np.int32))
        elif kind == 3 and extent:
            places = [s.number(-extent, extent - 1) for _ in range(3)]
            texts.append(f"np.array({places})")
            samples.append(np.array(places))
        else:
            texts.append(":")
            samples.append(slice(None))
    if s.rarely():
        texts.append("...")
        samples.append(Ellipsis)
    try:
        shape = np.empty(x.shape, np.bool_)[tuple(samples)].shape  # type: ignore[index]
    except IndexError:
        raise Unfit from None
    return ", ".join(texts), shape


def read_anywhere(s: Scope) -> Known:
    x = s.pick(lambda v: v.ndim >= 1 and v.is_number)
    key, shape = any_key(s, x)
    return s.let(f"{x.name}[{key}]", shape, x.dtype, x.bound)


def written_anywhere(s: Scope) -> Known:
    """One value at all places, or one each; sums where places may be the same."""
    x = s.pick(lambda v: v.ndim >= 1 and v.is_number)
    key, shape = any_key(s, x)
    if x.bound > 8:
        raise Unfit
    fits = [
        v for v in reversed(s.values) if v.shape in (shape, ()) and v.dtype == x.dtype
    ]
    new = s.one_of(fits) if fits and s.flip() else None
    text, size = (new.name, new.bound) if new else ("2", 2.0)
    repeats = "%" in key or "np.array" in key
    how = "set" if (not new or not new.shape or not repeats) and s.flip() else "add"
    bound = (
        x.bound + size * max(math.prod(shape), 1) if how == "add" else x.bound + size
    )
    return s.let(f"{x.name}.at[{key}].{how}({text})", x.shape, x.dtype, bound)


def placed_in(s: Scope) -> Known:
    """lax.dynamic_update_slice."""
    x = s.pick(lambda v: v.ndim >= 1 and v.size)
    y = s.pick(lambda v: v.dtype == x.dtype and v.ndim == x.ndim and all(
        a <= b for a, b in zip(v.shape, x.shape)
    ))  # fmt: skip
    starts = [number_of(s) if k == 0 else "0" for k in range(x.ndim)]
    text = f"lax.dynamic_update_slice({x.name}, {y.name}, ({', '.join(starts)},))"
    return s.let(text, x.shape, x.dtype, max(x.bound, y.bound))


# ---------------------------------------------------------------------------- products


def multiplied(s: Scope) -> Known:
    if not s.style.products:
        raise Unfit
    x = s.pick(lambda v: v.ndim in (1, 2) and (v.is_float or v.is_complex))
    inner = x.shape[-1]
    y = s.pick(
        lambda v: v.ndim in (1, 2) and v.dtype == x.dtype and v.shape[0] == inner
    )
    if inner * x.bound * y.bound > 60:
        raise Unfit
    s.facts.exact = False
    text = s.one_of(("{} @ {}", "jnp.dot({}, {})", "jnp.tensordot({}, {}, 1)"))
    shape = (*x.shape[:-1], *y.shape[1:])
    bound = inner * x.bound * y.bound
    return s.let(text.format(x.name, y.name), shape, x.dtype, bound)


def contracted(s: Scope) -> Known:
    if not s.style.products:
        raise Unfit
    x = s.pick(lambda v: v.ndim in (2, 3) and v.is_float)
    y = s.pick(lambda v: v.type == x.type)
    bound = x.bound * y.bound * max(x.shape[-1], x.shape[-2], 1)
    if bound > 60:
        raise Unfit
    s.facts.exact = False
    dots, shape = s.one_of((
        ("...ij,...kj->...ik", (*x.shape[:-1], x.shape[-2])),
        ("...ij,...ik->...jk", (*x.shape[:-2], x.shape[-1], x.shape[-1])),
        ("...ij,...ij->...i", x.shape[:-1]),
    ))  # fmt: skip
    return s.let(f"jnp.einsum({dots!r}, {x.name}, {y.name})", shape, x.dtype, bound)


def forgotten(s: Scope) -> None:
    s.forget()


ELEMENTWISE: tuple[Rule, ...] = (
    unary, unary, unary, binary, binary, binary, scaled, logical, choose, convert,
)  # fmt: skip
SHAPES: tuple[Rule, ...] = (moved, moved, reshaped, squeezed, stretched, joined, padded)
FOLDS: tuple[Rule, ...] = (folded, folded, folded, running)
INDEXING: tuple[Rule, ...] = (
    taken, looked_up, looked_up, updated, placed_in, read_anywhere, read_anywhere,
    written_anywhere,
)  # fmt: skip
PRODUCTS: tuple[Rule, ...] = (multiplied, contracted)
UPDATES: tuple[Rule, ...] = (
    updated, updated, updated, written_anywhere, written_anywhere, placed_in, placed_in,
    forgotten, binary, unary, read_anywhere,
    taken, folded, moved,
)  # fmt: skip
STRAIGHT = ELEMENTWISE + SHAPES + FOLDS + INDEXING + PRODUCTS + (forgotten,)
