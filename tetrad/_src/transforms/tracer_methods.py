"""What happens when Python asks a traced value for its number.

`bool`, `int`, `operator.index` of a value that is being differentiated answer from its
primal, since the derivative of what they give is zero. Everything else has no number
yet: an error says which expression asked, under which transformation, and what to write
instead. `install` puts these methods on `Tracer`.
"""

from __future__ import annotations

import operator
from typing import Any, NoReturn

from tetrad._src.core.bind import STATE, Tracer
from tetrad._src.core.stage import StageTracer, check_ancestor
from tetrad._src.transforms.jvp import JVPTracer
from tetrad._src.transforms.linearize import LinearTracer
from tetrad._src.transforms.vmap import BatchTracer
from tetrad._src.util import errors, frames, source


def primal_of(x: Any) -> Any:
    """The value behind a value that is being differentiated."""
    while type(x) is LinearTracer or type(x) is JVPTracer:
        x = x.primal
    return x


def transformation_of(x: Tracer) -> str:
    """The transformation that has no number for `x`, in the user's word."""
    kind = type(x)
    if kind is BatchTracer:
        return "vmap"
    if kind is StageTracer:
        return "jit"
    return "grad" if kind is LinearTracer else "jvp"


def _place() -> frames.Place | None:
    return STATE.where or frames.user_frame()


def _asked() -> tuple[str, str]:
    """The expression that asked for a number, and where it stands."""
    place = _place()
    if place is None:
        return "a traced value", ""
    expression = frames.expression_at(*place)
    text = f"`{expression}`" if expression else "a traced value"
    return text, f" at {frames.format_where(place)}"


def _why(x: Tracer) -> str:
    """Why there is no number, and where the value came from."""
    kind = transformation_of(x)
    made = getattr(x, "origin", None)
    came = ""
    if made and not _is_here(made):
        came = f" It was made at {frames.format_where(made)}."
    if kind == "vmap":
        return (
            f"under vmap it stands for all lanes at once ({x.aval.long_name()} in each"
            f" lane).{came}"
        )
    if kind == "jit":
        return (
            f"it stands for any {x.aval.long_name()}: under jit, and in the bodies of"
            f" lax.scan and its like, values are known only when the program runs.{came}"
        )
    return (
        f"under {kind} the number alone ({x.aval.long_name()}) would lose the"
        f" derivative.{came}"
    )


def _check_alive(x: Tracer) -> None:
    """Raises if `x` has outlived the function it was made in."""
    check_ancestor(x, STATE.trace)


def _is_here(made: frames.Place) -> bool:
    """Whether the line that asked is the line that made the value."""
    here = _place()
    return here is not None and frames.line_of(here) == frames.line_of(made)


def _line() -> str:
    """The user's line, where it says more than the expression."""
    place = _place()
    if place is None:
        return ""
    location = frames.line_of(place)
    line = frames.source_line(location.file, location.line)
    return f" (`{line}`)" if 0 < len(line) <= source.LONGEST else ""


def _static(x: Tracer) -> str:
    """The advice to make an argument static, where that is possible."""
    if transformation_of(x) != "jit":
        return ""
    named = frames.argument_named(x)
    if named is None:
        return (
            " If the value selects the program, make the argument it comes from static:"
            " jax.jit(f, static_argnames=...)."
        )
    name, function = named
    if not function.isidentifier():
        function = "f"
    return (
        f" If `{name}` selects the program, make it static: jax.jit({function},"
        f' static_argnames="{name}").'
    )


def _bool(self: Tracer) -> bool:
    value = primal_of(self)
    if not isinstance(value, Tracer):
        return bool(value)
    _check_alive(value)
    text, place = _asked()
    condition = _condition()
    if condition.text:
        text = f"`{condition.text}`"
    raise errors.TracerBoolConversionError(
        f"Attempted boolean conversion: {text}{place}{_line()} needs to be"
        f" True or False while the function is traced, but {_why(value)}\n{_instead_of(condition)}{_static(value)}"
    )


def _condition() -> source.Condition:
    place = _place()
    return source.choice(place) if place is not None else source.NO_CONDITION


def _instead_of(condition: source.Condition) -> str:
    """What to write instead of the condition that is being evaluated."""
    if condition.statement == "while":
        return (
            "A loop that ends when a value says so is jax.lax.while_loop(condition, step,"
            " start)."
        )
    if condition.statement == "assert":
        return (
            "Leave the assertion out of the traced function: check the arguments before"
            " the call, or the results after it."
        )
    if condition.instead is not None and condition.statement == "if":
        return (
            f"Write `{condition.instead}`, which computes both sides; to compute only"
            " one, jax.lax.cond(condition, f, g, x)."
        )
    if condition.instead is not None:
        return f"Write `{condition.instead}`."
    return (
        "To choose between values write jnp.where(condition, a, b); to choose between"
        " computations, jax.lax.cond(condition, f, g, x); to loop, jax.lax.while_loop."
    )


def _index(self: Tracer) -> int:
    value = primal_of(self)
    if not isinstance(value, Tracer):
        return operator.index(value)
    _check_alive(value)
    text, place = _asked()
    raise errors.TracerIntegerConversionError(
        f"{text}{place} needs a Python integer while the function is traced, but"
        f" {_why(value)} The __index__() method was called on traced array"
        f" {value.aval.long_name()}.\n{_instead_of_index(text.strip('`'))}"
        f"{_static(value)}"
    )


def _instead_of_index(text: str) -> str:
    """What to write instead of the expression that needs an integer."""
    if text.startswith("range("):
        return "Loop with jax.lax.fori_loop(start, stop, body, initial)."
    parts = source.subscript(text)
    if parts is not None and len(text) <= source.LONGEST:
        return f"Make the list an array: jnp.array({parts[0]})[{parts[1]}]."
    return (
        "Index an array instead of a list (jnp.array(table)[i]), or loop with"
        " jax.lax.fori_loop."
    )


def _no_number(x: Tracer, function: str, instead: str) -> NoReturn:
    _check_alive(x)
    text, place = _asked()
    raise errors.ConcretizationTypeError(
        f"Abstract tracer value where a number is needed: {text}{place} needs one while the"
        f" function is traced, but {_why(x)}\n"
        f"{function} is not possible here: {instead}"
    )


def _not_to_host(x: Tracer, method: str) -> NoReturn:
    _check_alive(x)
    text, place = _asked()
    raise errors.ConcretizationTypeError(
        f"{text}{place}: The {method}() method was called on traced array, whose numbers it"
        f" needs, but {_why(x)}\n"
        "Keep the array, and convert the result after the function has returned."
    )


def _int(self: Tracer) -> int:
    value = primal_of(self)
    if not isinstance(value, Tracer):
        return int(value)
    _no_number(
        value,
        "int()",
        f"try using {_converted('int')} to convert an array.{_static(value)}",
    )


def _converted(kind: str) -> str:
    """`x.astype(int)` in place of the user's `int(x)`."""
    text, _ = _asked()
    call = text.strip("`")
    if call.startswith(f"{kind}(") and call.endswith(")"):
        found = source.operands(call, 1)
        if found is not None and found[0].isidentifier():
            return f"`{found[0]}.astype({kind})`"
    return f"`x.astype({kind})`"


def _float(self: Tracer) -> NoReturn:
    call = _asked()[0].strip("`")
    if call.startswith("math.") and len(call) <= source.LONGEST:
        _no_number(self, "math", f"write jnp.{call.removeprefix('math.')}.")
    _no_number(
        self,
        "float()",
        f"try using {_converted('float')} to convert an array; leave float() out if it is a"
        " float already. To look at a value, jax.debug.print('{}', x).",
    )


def _format(self: Tracer, spec: str) -> str:
    if not spec:
        return str(self)
    _no_number(
        self,
        "formatting",
        "to print the value when the program runs, write jax.debug.print('{}', x).",
    )


def _complex(self: Tracer) -> NoReturn:
    _no_number(
        self, "complex()", f"try using {_converted('complex')} to convert an array."
    )


def _tolist(self: Tracer) -> NoReturn:
    _not_to_host(self, "tolist")


def _tobytes(self: Tracer, *args: Any, **kwargs: Any) -> NoReturn:
    _not_to_host(self, "tobytes")


def _item(self: Tracer, *args: Any) -> Any:
    value = primal_of(self)
    if not isinstance(value, Tracer):
        return value.item(*args)
    _no_number(
        value,
        "item()",
        "keep the array, and convert the result after the function has returned.",
    )


def _array(self: Tracer, *args: Any, **kwargs: Any) -> NoReturn:
    _check_alive(self)
    text, place = _asked()
    call = text.strip("`")
    better = "Use the function of jax.numpy of the same name"
    for prefix in ("np.", "numpy."):
        if call.startswith(prefix) and len(call) <= source.LONGEST:
            better = f"Write jnp.{call.removeprefix(prefix)}"
    raise errors.TracerArrayConversionError(
        f"{text}{place} hands a traced value to NumPy, which needs its numbers, but"
        f" {_why(self)} The numpy.ndarray conversion method __array__() was called.\n"
        f"{better}, or use jax.pure_callback for code that must run in"
        " NumPy."
    )


def _same(self: Tracer, memo: Any = None) -> Tracer:
    return self  # values are immutable


def _repr(self: Tracer) -> str:
    weak = "~" if self.aval.weak_type else ""
    name = f"{weak}{self.aval.long_name()}"
    if type(self) is BatchTracer:
        whole = getattr(self.value, "aval", None)
        batched = whole.long_name() if whole is not None else "?"
        return f"VmapTracer(aval={name}, batched={batched})"
    if type(self) is LinearTracer:
        tangent = self.tangent.aval.short_name()
        return f"GradTracer(primal={self.primal}, typeof(tangent)={tangent})"
    if type(self) is JVPTracer:
        return f"JVPTracer(primal={self.primal}, tangent={self.tangent})"
    return f"JitTracer({name})"


METHODS = {
    "__bool__": _bool,
    "__int__": _int,
    "__index__": _index,
    "__float__": _float,
    "__complex__": _complex,
    "__format__": _format,
    "__array__": _array,
    "__copy__": _same,
    "__deepcopy__": _same,
    "__repr__": _repr,
    "__str__": _repr,
    "tobytes": _tobytes,
    "tolist": _tolist,
    "item": _item,
}


def _sharding(x: Tracer) -> NoReturn:
    raise AttributeError(
        f"a traced {x.aval.long_name()} has no sharding: where it lies is known when the"
        " program runs. jax.typeof(x) tells its type."
    )


def install() -> None:
    """Puts the methods on every traced value."""
    Tracer.sharding = property(_sharding)  # type: ignore[attr-defined]
    for name, method in METHODS.items():
        setattr(Tracer, name, method)
