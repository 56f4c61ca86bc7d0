"""Rules for control flow, nested transformations, custom derivatives, random numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from generated.calls import CALLED
from generated.program import Def, Do, Let, is_inexact
from generated.scope import Known, Scope, Type, Unfit, tuple_text
from generated.steps import STRAIGHT, Rule

CARRIED = 2.0  # the bound of what loops carry


def deeper(s: Scope) -> None:
    if s.style.depth <= 0 or not s.style.flows:
        raise Unfit


def operands(s: Scope, low: int = 1, high: int = 2) -> list[Known]:
    found: list[Known] = []
    for _ in range(s.number(low, high)):
        v = s.pick()
        if v not in found:
            found.append(v)
    return found


def parameters(s: Scope, values: Sequence[Known]) -> list[Known]:
    return [s.param(v.type, v.bound) for v in values]


def names(values: Sequence[Known]) -> str:
    return ", ".join(v.name for v in values)


def rules(s: Scope) -> tuple[Rule, ...]:
    """What a nested function contains."""
    return STRAIGHT + CALLED + NESTED if s.style.depth > 1 else STRAIGHT


# ---------------------------------------------------------------------------- branches


def predicate(s: Scope) -> str:
    flags = [v for v in s.values if v.is_bool and not v.ndim]
    if flags and s.flip():
        return str(s.one_of(flags).name)
    x = s.pick(lambda v: v.is_float or v.is_int)
    if s.style.smooth and x.is_float:
        x = s.pick(lambda v: v.is_int)
    if x.is_int:
        return f"jnp.sum({x.name}) % 2 == 0" if x.ndim else f"{x.name} > 0"
    return f"jnp.sum({x.name}) > {s.constant()}"


def branched(s: Scope) -> None:
    """cond, switch."""
    deeper(s)
    given = operands(s)
    wants = [(v.type, v.bound) for v in given[: s.number(1, 2)]]
    many = s.flip()
    head = None
    if many:
        head = s.pick(lambda v: v.is_int and not v.ndim).name
    else:
        head = predicate(s)
    made = [
        s.function("branch", parameters(s, given), wants, rules(s))
        for _ in range(3 if many else 2)
    ]
    if many:
        text = f"lax.switch({head}, [{', '.join(made)}], {names(given)})"
    else:
        text = f"lax.cond({head}, {made[0]}, {made[1]}, {names(given)})"
    s.unpack(text, wants)


# ------------------------------------------------------------------------------- loops


def carried(s: Scope) -> list[tuple[str, Type]]:
    """What a loop starts from: expressions and types."""
    found = []
    for v in operands(s):
        text = v.name
        if is_inexact(v.dtype) and v.bound > CARRIED:
            if v.is_complex:
                raise Unfit
            text = f"jnp.sin({text})"
        found.append((text, v.type))
    return found


def scanned(s: Scope) -> None:
    deeper(s)
    init = carried(s)
    length = s.one_of((3, 1, 4, 0, 5))
    fits = [v for v in s.values if v.ndim and not v.is_bool]
    rows = []
    if fits and not s.rarely():
        rows = [s.one_of(fits)]
        length = rows[0].shape[0]
        rows += [v for v in fits if v.shape[0] == length and v is not rows[0]][:1]
    if length > 9:
        raise Unfit
    carry = [s.param(want) for _, want in init]
    xs = [s.param(Type(v.shape[1:], v.dtype), v.bound) for v in rows]
    outs = [v.type for v in (*xs, *carry)][: s.number(0, 2)]
    wants: list[tuple[Type, float | None]] = [(want, CARRIED) for _, want in init]
    wants += [(want, CARRIED) for want in outs]
    count = len(init)

    def tail(texts: list[str]) -> str:
        return f"{tuple_text(texts[:count])}, {tuple_text(texts[count:])}"

    groups = [carry[0] if count == 1 else carry, xs[0] if len(xs) == 1 else xs]
    body = s.function("body", groups, wants, rules(s), tail)
    start = tuple_text([text for text, _ in init])
    given = tuple_text([v.name for v in rows]) if rows else "None"
    more = "" if rows else f", length={length}"
    more += ", reverse=True" if s.rarely() else ""
    more += ", unroll=2" if s.rarely() else ""
    one, two = s.name("c"), s.name("y")
    s.body.append(Let((one, two), f"lax.scan({body}, {start}, {given}{more})"))
    name_parts(s, one, [want for _, want in init])
    name_parts(s, two, [Type((length, *t.shape), t.dtype) for t in outs])


def name_parts(s: Scope, name: str, made: Sequence[Type]) -> None:
    """The parts of a tuple become values."""
    if sum(t.size for t in made) > s.style.limit:
        raise Unfit
    if len(made) == 1:
        s.values.append(Known(made[0].shape, made[0].dtype, name, CARRIED))
    elif made:
        s.unpack(f"({name})", [(t, CARRIED) for t in made])


def counted(s: Scope) -> None:
    """fori_loop."""
    deeper(s)
    init = carried(s)
    count = str(s.number(0, 5))
    if not s.style.reverse and s.flip():
        count = f"{s.pick(lambda v: v.is_int and not v.ndim).name} % 5"
        s.facts.loops = True
    raw = s.name("i")
    i = s.param(Type((), s.style.int))
    carry = [s.param(want) for _, want in init]
    index = Known((), "raw", raw)
    body = s.function(
        "step",
        [index, carry[0] if len(init) == 1 else carry],
        [(want, CARRIED) for _, want in init],
        rules(s),
        prelude=[Let((i.name,), f"jnp.asarray({raw}, {i.dtype!r})")],
    )
    start = tuple_text([text for text, _ in init])
    state = s.name("c")
    s.body.append(Let((state,), f"lax.fori_loop(0, {count}, {body}, {start})"))
    name_parts(s, state, [want for _, want in init])


def repeated(s: Scope) -> None:
    """while_loop, with a number of steps that depends on values."""
    deeper(s)
    if s.style.reverse:
        raise Unfit
    init = carried(s)
    wants = [(want, CARRIED) for _, want in init]
    limits = [v.name for v in s.values if v.is_int and not v.ndim]
    limit = f"{s.one_of(limits)} % 6" if limits and s.flip() else str(s.number(0, 5))
    n = Known((), "raw", s.name("n"))
    text = f"s[0] < {limit}"
    summed = [k for k, (want, _) in enumerate(wants) if want.is_float]
    if summed:
        text = f"({text}) & (jnp.sum(s[{summed[0] + 1}]) < {s.constant()} + 1)"
    going = s.name("going")
    s.body.append(Def(going, ("s",), (), text))
    carry = [s.param(want) for want, _ in wants]
    body = s.function(
        "step",
        [[n, *carry]],
        wants,
        rules(s),
        tail=lambda texts: f"({n.name} + 1, {', '.join(texts)})",
    )
    start = f"(0, {', '.join(text for text, _ in init)})"
    state = s.name("c")
    s.body.append(Let((state,), f"lax.while_loop({going}, {body}, {start})"))
    s.facts.loops = True
    s.unpack(f"{state}[1{':' if len(wants) > 1 else ''}]", wants)


def mapped(s: Scope) -> None:
    """lax.map, vmap."""
    deeper(s)
    rows = s.pick(lambda v: v.ndim and 0 < v.shape[0] <= 9)
    others = [
        v for v in s.values if v is not rows and v.ndim and v.shape[0] == rows.shape[0]
        and not v.is_bool and not v.is_key
    ][:1]  # fmt: skip
    given = [rows, *others]
    params = [s.param(Type(v.shape[1:], v.dtype), v.bound) for v in given]
    want = s.one_of(params).type
    made = Type((rows.shape[0], *want.shape), want.dtype)
    if s.flip():
        group = params[0] if len(params) == 1 else params
        name = s.function("row", [group], [(want, CARRIED)], rules(s))
        # JAX divides by zero if rows are empty and batched.
        more = ", batch_size=2" if s.rarely() and rows.size and not others else ""
        text = f"lax.map({name}, {tuple_text([v.name for v in given])}{more})"
    else:
        name = s.function("lane", params, [(want, CARRIED)], rules(s))
        out = s.number(0, want.ndim) if s.rarely() else 0
        if out:
            made = made.like((*want.shape[:out], rows.shape[0], *want.shape[out:]))
        more = f", out_axes={out}" if out else ""
        text = f"jax.vmap({name}{more})({names(given)})"
    s.let(text, made.shape, made.dtype, CARRIED)


def associated(s: Scope) -> None:
    deeper(s)
    x = s.pick(lambda v: v.ndim and (v.is_float or v.is_int))
    axis = s.number(0, x.ndim - 1)
    product = "lambda a, b: a * b / 2.1"
    how = s.one_of(("jnp.add", product)) if x.is_float else "jnp.add"
    more = ", reverse=True" if s.rarely() else ""
    bound = x.bound * max(x.shape[axis], 1) if how == "jnp.add" else x.bound
    if x.bound > 2 and how != "jnp.add":
        raise Unfit
    text = f"lax.associative_scan({how}, {x.name}, axis={axis}{more})"
    s.let(text, x.shape, x.dtype, bound)


# --------------------------------------------------------- nested calls and derivatives


def called(s: Scope) -> None:
    """jit and checkpoint inside of the program."""
    deeper(s)
    given = operands(s)
    wants = [(v.type, v.bound) for v in given[: s.number(1, 2)]]
    name = s.function("inner", parameters(s, given), wants, rules(s))
    how = s.one_of((
        "jax.jit({})", "jax.checkpoint({})",
        "jax.checkpoint({}, policy=jax.checkpoint_policies.dots_saveable)",
        "jax.checkpoint({}, policy=jax.checkpoint_policies.everything_saveable)",
    ))  # fmt: skip
    s.unpack(f"{how.format(name)}({names(given)})", wants)


def derived(s: Scope) -> None:
    """grad, jvp and vjp inside of the program."""
    deeper(s)
    x = s.pick(lambda v: v.is_float and v.size <= 40)
    style = dataclasses.replace(s.style, reverse=True, forward=True)
    kind = s.one_of(
        ("grad", "jvp", "vjp", "linearize", "value_and_grad", "jacfwd", "jacrev")
    )
    scalar = kind in ("grad", "value_and_grad") or s.flip()
    want = Type((), x.dtype) if scalar else x.type
    if x.size * want.size > 60:
        raise Unfit
    p = s.param(x.type, x.bound)
    name = s.function("inner", [p], [(want, CARRIED)], rules(s), style=style)
    if kind in ("jacfwd", "jacrev"):
        text = f"jax.{kind}({name})({x.name})"
        s.let(f"jnp.tanh({text})", (*want.shape, *x.shape), x.dtype, 1.0)
        return
    if kind == "grad":
        text = f"jax.grad({name})({x.name})"
    elif kind == "value_and_grad":
        text = (
            f"jax.value_and_grad(lambda p: ({name}(p), p), has_aux=True)({x.name})[1]"
        )
    elif kind == "jvp":
        text = f"jax.jvp({name}, ({x.name},), (jnp.cos({x.name}),))[1]"
    elif kind == "vjp":
        ct = "jnp.ones_like" if not scalar else "jnp.sum"
        text = f"jax.vjp({name}, {x.name})[1]({ct}({x.name}))[0]"
    else:
        text = f"jax.linearize({name}, {x.name})[1](jnp.cos({x.name}))"
    shape = want.shape if kind in ("jvp", "linearize") else x.shape
    s.let(f"jnp.tanh({text})", shape, x.dtype, 1.0)


def with_rule(s: Scope) -> None:
    """custom_jvp, custom_vjp; where derivatives are measured, with the true rule."""
    deeper(s)
    x = s.pick(lambda v: v.is_float)
    given = [x, *[v for v in s.values if v.is_float and v is not x][:1]]
    given = given[: s.number(1, 2)]
    style = dataclasses.replace(s.style, reverse=True, forward=True)
    want = [(x.type, CARRIED)]
    plain = s.function(
        "plain", parameters(s, given), want, rules(s), style=style, closed=True
    )
    name = s.name("g")
    twice = "" if s.style.smooth or s.flip() else "2.0 * "
    if s.style.forward or s.flip():
        s.body.append(Let((name,), f"jax.custom_jvp({plain})"))
        rule = f"lambda xs, ts: ({name}(*xs), {twice}jax.jvp({plain}, xs, ts)[1])"
        s.body.append(Do(f"{name}.defjvp({rule})"))
    else:
        s.body.append(Let((name,), f"jax.custom_vjp({plain})"))
        back = f"lambda xs, ct: jax.vjp({plain}, *xs)[1]({twice}ct)"
        s.body.append(Do(f"{name}.defvjp(lambda *xs: ({name}(*xs), xs), {back})"))
    s.let(f"{name}({names(given)})", x.shape, x.dtype, CARRIED)


# ---------------------------------------------------------------------- random numbers


def drawn(s: Scope) -> Known:
    if not s.style.random:
        raise Unfit
    shape = s.one_of(((3,), (), (2, 3), (4,)))
    key = s.key()
    kind = s.one_of(
        ("uniform", "normal", "bernoulli", "randint", "exponential", "permutation",
         "categorical", "truncated_normal", "gumbel")
    )  # fmt: skip
    if kind == "permutation":
        x = s.pick(lambda v: v.ndim >= 1 and v.is_number)
        text = f"jax.random.permutation({key}, {x.name})"
        return s.let(text, x.shape, x.dtype, x.bound)
    if kind == "categorical":
        x = s.pick(lambda v: v.ndim >= 1 and v.is_float and v.shape[-1])
        text = f"jax.random.categorical({key}, {x.name})"
        return s.let(text, x.shape[:-1], s.style.int)
    if kind == "truncated_normal":
        text = (
            f"jax.random.truncated_normal({key}, -1.0, 2.0, {shape}, {s.style.float!r})"
        )
        return s.let(text, shape, s.style.float, 2.0)
    if kind == "bernoulli":
        return s.let(f"jax.random.bernoulli({key}, 0.3, {shape})", shape, "bool")
    if kind == "randint":
        text = f"jax.random.randint({key}, {shape}, -2, 5, {s.style.int!r})"
        return s.let(text, shape, s.style.int)
    text = f"jax.random.{kind}({key}, {shape}, {s.style.float!r})"
    return s.let(text, shape, s.style.float, 7.0)


def split(s: Scope) -> None:
    if not s.style.random:
        raise Unfit
    key = s.key()
    how = s.one_of(("jax.random.split({})", "jax.random.fold_in({}, 3)"))
    made = [s.name("k") for _ in range(2 if "split" in how else 1)]
    s.body.append(Let(tuple(made), how.format(key)))
    s.values += [Known((), "key", name) for name in made]


def drawn_in_loop(s: Scope) -> None:
    """A scan or a vmap over keys."""
    deeper(s)
    if not s.style.random:
        raise Unfit
    (text, want) = carried(s)[0]
    if not want.is_float:
        raise Unfit
    key = s.key()
    k, c = Known((), "key", s.name("k")), s.param(want)
    count = s.number(1, 4)
    if s.flip():
        body = s.function(
            "body",
            [c, k],
            [(want, CARRIED)],
            (drawn, *rules(s)),
            tail=lambda texts: f"{texts[0]}, None",
        )
        text = f"lax.scan({body}, {text}, jax.random.split({key}, {count}))[0]"
        s.let(text, want.shape, want.dtype, CARRIED)
    else:
        lane = s.function("lane", [k], [(want, CARRIED)], (drawn, *rules(s)))
        text = f"jax.vmap({lane})(jax.random.split({key}, {count}))"
        s.let(text, (count, *want.shape), want.dtype, CARRIED)


LOOPS: tuple[Rule, ...] = (
    branched, branched, scanned, scanned, scanned, counted, repeated, mapped, associated,
)  # fmt: skip
CALLS: tuple[Rule, ...] = (called, derived, with_rule)
RANDOM: tuple[Rule, ...] = (drawn, split, drawn_in_loop)
NESTED = LOOPS + CALLS
ALL = STRAIGHT + CALLED + LOOPS + LOOPS + CALLS + CALLS + RANDOM
