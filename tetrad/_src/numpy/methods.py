"""Operators and methods of arrays and tracers, as a table that `install` puts on `Value`.

Each is the function of NumPy with the array as first argument. Operators come from the
`ufunc` objects, which keep a direct way for operands that need no promotion.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from tetrad._src.core.bind import Tracer, Value
from tetrad._src.core.stage import where as user_place
from tetrad._src.numpy import (
    assemble,
    choice,
    contract,
    create,
    cumulative,
    elementwise,
    lax,
    logic,
    order,
    reduce,
    search,
    shape,
)
from tetrad._src.numpy.at import At
from tetrad._src.numpy.axes import static_advice
from tetrad._src.numpy.convert import array_like, fresh_copy, on_device
from tetrad._src.numpy.dtype import dtype_argument, float_dtype
from tetrad._src.numpy.elementwise import no_sharding
from tetrad._src.numpy.index import getitem
from tetrad._src.numpy.plan import Planner, planned
from tetrad._src.numpy.text import format_array as format_array
from tetrad._src.numpy.text import format_elements as format_elements
from tetrad._src.numpy.ufunc import operator, prefix, reflected
from tetrad._src.util import dtypes, frames, source

TABLE: dict[str, Any] = {}
"""What `Value` gets: names of methods and properties, and what they are."""


def method(function: Callable[..., Any]) -> Callable[..., Any]:
    """Enters a function as the method of its own name, less a trailing underscore."""
    TABLE[
        function.__name__.rstrip("_")
        if not function.__name__.startswith("__")
        else function.__name__
    ] = function
    return function


def attribute(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    TABLE[function.__name__] = property(function)
    return function


def install(cls: type = Value) -> None:
    """Puts the table on `cls`; errors leave methods without our inner frames."""
    for name, member in TABLE.items():
        if isinstance(member, property):
            member = property(frames.hide_frames(member.fget), doc=member.__doc__)  # type: ignore[arg-type]
        else:
            member = frames.hide_frames(member)
        setattr(cls, name, member)


# ----------------------------------------------------------------------------- operators

_BINARY = {
    "add": (elementwise.add, "+"),
    "sub": (elementwise.subtract, "-"),
    "mul": (elementwise.multiply, "*"),
    "truediv": (elementwise.divide, "/"),
    "floordiv": (elementwise.floor_divide, "//"),
    "mod": (elementwise.remainder, "%"),
    "pow": (elementwise.power, "**"),
    "and": (logic.bitwise_and, "&"),
    "or": (logic.bitwise_or, "|"),
    "xor": (logic.bitwise_xor, "^"),
    "lshift": (logic.left_shift, "<<"),
    "rshift": (logic.right_shift, ">>"),
}
for _name, (_function, _symbol) in _BINARY.items():
    TABLE[f"__{_name}__"] = operator(_function, _symbol)
    TABLE[f"__r{_name}__"] = reflected(_function, _symbol)

TABLE["__pow__"] = elementwise.power_method

_COMPARISONS = {
    "eq": (logic.equal, "=="),
    "ne": (logic.not_equal, "!="),
    "lt": (logic.less, "<"),
    "le": (logic.less_equal, "<="),
    "gt": (logic.greater, ">"),
    "ge": (logic.greater_equal, ">="),
}
for _name, (_function, _symbol) in _COMPARISONS.items():
    TABLE[f"__{_name}__"] = operator(_function, _symbol)

TABLE["__neg__"] = prefix(elementwise.negative, "-")
TABLE["__pos__"] = prefix(elementwise.positive, "+")
TABLE["__abs__"] = prefix(elementwise.absolute, "abs ")
TABLE["__invert__"] = prefix(logic.bitwise_not, "~")


_products = Planner("x @ y")


def _product(x: Any, y: Any) -> Any:
    return contract.product(x, y, "x @ y")


@method
@frames.trims_itself
def __matmul__(x: Any, y: Any) -> Any:
    try:
        if isinstance(y, Value):
            return _products.run((x.aval, y.aval), _product, (x, y))
        return _product(x, y) if array_like(y) else NotImplemented
    except Exception as error:
        frames.trim_traceback(error)
        del x, y  # which the frame that raised leads to
        raise


@method
def __rmatmul__(x: Any, y: Any) -> Any:
    if not array_like(y):
        return NotImplemented
    return contract.product(y, x, "x @ y")


@method
def __divmod__(x: Any, y: Any) -> Any:
    if not array_like(y):
        return NotImplemented
    return elementwise.divmod(x, y)


@method
def __rdivmod__(x: Any, y: Any) -> Any:
    if not array_like(y):
        return NotImplemented
    return elementwise.divmod(y, x)


@method
def __round__(x: Any, ndigits: int | None = None) -> Any:
    return elementwise.round(x, ndigits or 0)


# ------------------------------------------------------------------------ the container


TABLE["__getitem__"] = getitem


@method
def __len__(x: Any) -> int:
    if not x.aval.shape:
        raise TypeError(
            f"{_words('len(x)')}: {x.aval.long_name()} has no axes, so no length; x.size is the"
            " number of elements"
        )
    return x.aval.shape[0]


@method
def __iter__(x: Any) -> Iterator[Any]:
    if not x.aval.shape:
        raise TypeError(_not_iterable(x))
    return _elements(x, range(x.aval.shape[0]))


@method
def __reversed__(x: Any) -> Iterator[Any]:
    if not x.aval.shape:
        raise TypeError(_not_iterable(x))
    return _elements(x, range(x.aval.shape[0])[::-1])


AT_ONCE = 64


def _elements(x: Any, places: range) -> Iterator[Any]:
    """Some elements at a time: a program of several costs little more than one of one,
    and whoever asks whether `x` can be iterated wants none."""
    for start in range(0, len(places), AT_ONCE):
        yield from [x[i] for i in places[start : start + AT_ONCE]]


def _not_iterable(x: Any) -> str:
    place = user_place()
    text = source.iterated(place) if place is not None else None
    name = f"`{text}`" if text else _words("the array")
    return (
        f"{name} is {x.aval.long_name()}, which has no axis to iterate over;"
        " its only element is x[()], and x.reshape(1) has an axis"
    )


def _words(otherwise: str) -> str:
    """What the user wrote where the error is, in quotes."""
    place = user_place()
    text = frames.expression_at(*place) if place is not None else None
    return f"`{text}`" if text and len(text) <= 60 else otherwise


@method
def __contains__(x: Any, item: Any) -> bool:
    if x.ndim != 1 or np.ndim(item):
        raise ValueError(
            "v in x asks whether a number is among the elements of a vector; got an item of"
            f" shape {np.shape(item)} and an array of shape {x.shape}. Write"
            " jnp.any(x == v) or jnp.isin(v, x)"
        )
    return bool(reduce.any(logic.equal(x, item)))


@method
def __setitem__(x: Any, index: Any, new: Any) -> None:
    raise TypeError(
        "arrays never change. To get a new array with these elements replaced, write"
        f" {_rewritten(index)}"
    )


@method
def __delitem__(x: Any, index: Any) -> None:
    place = user_place()
    text = frames.expression_at(*place) if place is not None else None
    array, i = source.subscript(text or "") or ("x", _index_text(index))
    raise TypeError(
        "arrays never change. To get a new array without these elements, write"
        f" {array} = jnp.delete({array}, {i})"
    )


@method
def __hash__(x: Any) -> int:
    if isinstance(x, Tracer):
        raise TypeError(
            f"{_words('a traced value')} needs a hash, but a traced"
            f" {x.aval.long_name()} has no value yet. To select the program by it,"
            f" {static_advice(x)}; to choose among values, index an array with it"
        )
    raise TypeError(
        f"{_words('an array')} needs a hash, but {x.aval.long_name()} arrays have none,"
        " since == on them gives an array. As a key use a number (x.item()), x.tobytes() or"
        " id(x); a static argument of jit must be a Python or NumPy scalar"
    )


def _rewritten(index: Any) -> str:
    """The user's assignment as `x = x.at[…].set(…)`, if its source can be read."""
    place = user_place()
    if place is not None:
        location = frames.line_of(place)
        line = frames.source_line(location.file, location.line)
        rewritten = rewrite_assignment(line)
        if rewritten is not None:
            return rewritten
    return f"x = x.at[{_index_text(index)}].set(…)"


_OPERATORS = {
    "+=": "add",
    "-=": "subtract",
    "*=": "multiply",
    "/=": "divide",
    "**=": "power",
}


def rewrite_assignment(line: str) -> str | None:
    """`x[0] = 1` as `x = x.at[0].set(1)`; None if the line is not such a statement."""
    open_bracket = line.find("[")
    if open_bracket <= 0:
        return None
    depth = 0
    for position in range(open_bracket, len(line)):
        depth += {"[": 1, "]": -1}.get(line[position], 0)
        if depth == 0:
            break
    else:
        return None
    target, index = line[:open_bracket], line[open_bracket + 1 : position]
    rest = line[position + 1 :].strip()
    for symbol, name in {**_OPERATORS, "=": "set"}.items():
        if rest.startswith(symbol) and not rest.startswith("=="):
            new = rest[len(symbol) :].split("#")[0].strip().rstrip(";")
            if not new or not target.strip():
                return None
            return f"{target} = {target}.at[{index}].{name}({new})"
    return None


def _index_text(index: Any) -> str:
    if isinstance(index, tuple):
        return ", ".join(_index_text(i) for i in index)
    if isinstance(index, slice):
        ends = [index.start, index.stop] + ([index.step] if index.step else [])
        return ":".join("" if end is None else str(end) for end in ends)
    if index is Ellipsis:
        return "..."
    return "…" if isinstance(index, (Value, np.ndarray)) else repr(index)


# ----------------------------------------------------------------------------- properties


@attribute
@planned()
def T(x: Any) -> Any:
    """The array with its axes reversed."""
    return shape.transposed(x, None, "x.T")


@attribute
def mT(x: Any) -> Any:
    """The array with its last two axes swapped."""
    return shape.matrix_transpose(x)


@attribute
@frames.trims_itself
def at(x: Any) -> At:
    """Names elements to update: `x.at[idx].set(v)` gives a new array."""
    return At(x)


@attribute
def real(x: Any) -> Any:
    """The real parts."""
    return logic.real(x)


@attribute
def imag(x: Any) -> Any:
    """The imaginary parts."""
    return logic.imag(x)


@attribute
def nbytes(x: Any) -> int:
    """The number of bytes of the elements."""
    return x.aval.nbytes


@attribute
def itemsize(x: Any) -> int:
    """The number of bytes of an element."""
    return x.aval.dtype.itemsize


@attribute
def flat(x: Any) -> Any:
    """The elements in row-major order, as a vector."""
    return lax.reshape(x, (x.size,))


# -------------------------------------------------------------------------------- methods


@method
def astype(x: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """The array with its elements converted to `dtype`: see `jnp.astype`."""
    if device is None:
        return _astype(x, dtype, copy)
    return _astype(on_device(x, device), dtype, copy)


@planned()
def _astype(x: Any, dtype: Any, copy: bool) -> Any:
    return converted(x, dtype, copy, "x.astype")


def converted(x: Value, dtype: Any, copy: bool, name: str) -> Any:
    found = float_dtype(name) if dtype is None else dtype_argument(dtype, name)
    if x.aval.kind == "K" and not isinstance(found, dtypes.KeyDtype):
        raise TypeError(
            f"{name}: random keys do not convert to {found}; jax.random.key_data(key)"
            " gives the numbers behind them"
        )
    if x.aval.kind == "c" and not isinstance(found, dtypes.KeyDtype):
        if dtypes.kind(found) == "b":
            return logic.as_bool(x)
        if dtypes.kind(found) != "c":
            frames.warn(
                f"{name}: Casting from complex to real dtypes loses the imaginary parts of"
                f" {x.aval.long_name()}; write"
                " x.real.astype(…)",
                DeprecationWarning,
            )
            x = lax.real(x)
    result = lax.convert_element_type(x, found)
    return fresh_copy(result) if copy and result is x else result


@method
@planned()
def reshape(
    x: Any,
    *args: Any,
    order: str = "C",
    copy: bool | None = None,
    out_sharding: Any = None,
) -> Any:
    """The elements in another shape: see `jnp.reshape`."""
    no_sharding("x.reshape", out_sharding)
    new = args[0] if len(args) == 1 else args
    return shape.reshaped(x, new, order, copy, "x.reshape")


@method
@planned()
def transpose(x: Any, *args: Any) -> Any:
    """The array with its axes in another order: see `jnp.transpose`."""
    axes: Any = args
    if len(args) == 0 or (len(args) == 1 and args[0] is None):
        axes = None
    elif len(args) == 1 and isinstance(args[0], (list, tuple)):
        axes = args[0]
    return shape.transposed(x, axes, "x.transpose")


@method
def ravel(x: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements as a vector."""
    return shape.ravel(x, order, out_sharding=out_sharding)


@method
def flatten(x: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements as a vector."""
    return shape.ravel(x, order, out_sharding=out_sharding)


@method
def squeeze(x: Any, axis: Any = None) -> Any:
    """The array without axes of extent 1: see `jnp.squeeze`."""
    return shape.squeeze(x, axis)


@method
def swapaxes(x: Any, axis1: int, axis2: int) -> Any:
    """The array with two axes exchanged."""
    return shape.swapaxes(x, axis1, axis2)


@method
def to_device(x: Any, device: Any, *, stream: Any = None) -> Any:
    """The array on `device` (a device or a sharding): see `jax.device_put`."""
    if stream is not None:
        raise NotImplementedError(
            "x.to_device(stream=...) is not available: work is ordered by the data that it"
            " reads"
        )
    return on_device(x, device)


@method
def copy(x: Any) -> Any:
    """A new array with the same elements."""
    return fresh_copy(x)


@method
def item(x: Any, *args: Any) -> Any:
    """The one element, or that at the index `args`, as a Python number."""
    if isinstance(x, Tracer):
        return np.asarray(x).item(*args)
    if not args and x.size != 1:
        raise ValueError(
            f"x.item() needs an array of one element, got {x.aval.long_name()}; give an"
            " index, or use x.tolist()"
        )
    return np.asarray(x).item(*args)


@method
def tolist(x: Any) -> Any:
    """The elements as nested lists of Python numbers."""
    return np.asarray(x).tolist()


@method
def byteswap(x: Any, inplace: bool = False) -> Any:
    """The array with the bytes of each element in reverse order."""
    if inplace:
        raise ValueError("arrays never change: write y = x.byteswap()")
    if x.aval.kind == "c":
        return lax.complex(byteswap(lax.real(x)), byteswap(lax.imag(x)))
    width = x.dtype.itemsize
    if width == 1:
        return x
    word = np.dtype(f"u{width}")
    bits = lax.bitcast_convert_type(x, word)
    swapped = lax.full(bits.shape, word.type(0))
    for i in range(width):
        byte = lax.shift_right_logical(bits, word.type(8 * i))
        byte = lax.bitwise_and(byte, word.type(0xFF))
        place = word.type(8 * (width - 1 - i))
        swapped = lax.bitwise_or(swapped, lax.shift_left(byte, place))
    return lax.bitcast_convert_type(swapped, x.dtype)


@method
def tobytes(x: Any, order: str = "C") -> bytes:
    """The bytes of the elements in row-major order."""
    return np.asarray(x).tobytes(order)  # type: ignore[arg-type]


@method
@planned()
def sum(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
    promote_integers: bool = True,
) -> Any:
    """See `jnp.sum`."""
    return reduce.summed(
        x, axis, dtype, out, keepdims, initial, where, promote_integers, name="x.sum"
    )


@method
@planned()
def mean(
    x: Any,
    axis: Any = None,
    dtype: Any = None,
    out: None = None,
    keepdims: bool = False,
    *,
    where: Any = None,
) -> Any:
    """See `jnp.mean`."""
    return reduce.averaged(x, axis, dtype, out, keepdims, where, "x.mean")


def _same(name: str, function: Callable[..., Any]) -> None:
    """Enters a function of NumPy as a method with the same arguments."""

    def bound(x: Any, *args: Any, **kwargs: Any) -> Any:
        return function(x, *args, **kwargs)

    bound.__name__ = name
    bound.__doc__ = f"See `jnp.{function.__name__}`."
    TABLE[name] = bound


_NAMESAKES: dict[str, Callable[..., Any]] = {
    "prod": reduce.prod,
    "any": reduce.any,
    "all": reduce.all,
    "max": reduce.max,
    "min": reduce.min,
    "argmax": reduce.argmax,
    "argmin": reduce.argmin,
    "var": reduce.var,
    "std": reduce.std,
    "ptp": reduce.ptp,
    "round": elementwise.round,
    "dot": contract.dot,
    "trace": contract.trace,
    "cumsum": cumulative.cumsum,
    "cumprod": cumulative.cumprod,
    "take": choice.take,
    "clip": choice.clip,
    "choose": choice.choose,
    "repeat": assemble.repeat,
    "sort": order.sort,
    "argsort": order.argsort,
    "argpartition": order.argpartition,
    "nonzero": search.nonzero,
    "searchsorted": search.searchsorted,
    "diagonal": create.diagonal,
    "conj": logic.conj,
    "conjugate": logic.conj,
}
for _name, _namesake in _NAMESAKES.items():
    _same(_name, _namesake)


@method
def compress(
    x: Any,
    condition: Any,
    axis: int | None = None,
    *,
    out: None = None,
    size: int | None = None,
    fill_value: Any = 0,
) -> Any:
    """See `jnp.compress`."""
    return choice.compress(
        condition, x, axis, size=size, fill_value=fill_value, out=out
    )


@method
def __array_namespace__(x: Any, /, *, api_version: str | None = None) -> Any:
    """The module whose functions work on arrays: `tetrad.numpy`."""
    if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
        raise ValueError(f"there is no version {api_version!r} of the array API here")
    return sys.modules["tetrad.numpy"]


def _no_axis(x: Any, dtype: Any) -> str:
    """Why the bytes of an array do not make up elements of a dtype."""
    if not x.ndim:
        return (
            f"x.view: a number of {x.dtype.name} has no axis for elements of {dtype.name};"
            " they differ in width"
        )
    times = dtypes.itemsize_bits(dtype) // dtypes.itemsize_bits(x.dtype)
    return (
        f"x.view: the last axis of {x.aval.long_name()} must be a multiple of {times} for"
        f" {dtype.name}"
    )


@method
def view(x: Any, dtype: Any = None, type: None = None) -> Any:
    """The same bytes read as another dtype.

    A narrower one makes the last axis longer, a wider one shorter.
    """
    if type is not None:
        raise NotImplementedError(
            f"x.view: there is one type of arrays, so type must be None, got {type!r};"
            " np.asarray(x).view(type=...) gives NumPy's other types"
        )
    if dtype is None:
        return x
    found = dtype_argument(dtype, "x.view")
    if x.dtype == found:
        return x
    if x.aval.kind == "b":
        x = lax.convert_element_type(x, np.uint8)
    if x.aval.kind == "c" and not x.ndim:
        raise ValueError(_no_axis(x, found))
    if x.aval.kind == "c":
        parts = lax.concatenate(
            [v[..., None] for v in (lax.real(x), lax.imag(x))], x.ndim
        )
        x = lax.reshape(parts, (*x.shape[:-1], 2 * x.shape[-1]))
    if dtypes.kind(found) == "c":
        floats = view(x, np.zeros((), found).real.dtype)
        if not x.ndim or floats.shape[-1] % 2:
            raise ValueError(_no_axis(x, found))
        pairs = lax.reshape(floats, (*floats.shape[:-1], floats.shape[-1] // 2, 2))
        return lax.complex(pairs[..., 0], pairs[..., 1])
    if dtypes.kind(found) == "b":
        return lax.ne(view(x, np.uint8), np.uint8(0))
    old, new = dtypes.itemsize_bits(x.dtype), dtypes.itemsize_bits(found)
    if old == new:
        return lax.bitcast_convert_type(x, found)
    if not x.ndim:
        raise ValueError(_no_axis(x, found))
    n = x.shape[-1]
    if new < old:
        parts = lax.bitcast_convert_type(x, found)
        return lax.reshape(parts, (*x.shape[:-1], n * (old // new)))
    if n % (new // old):
        raise ValueError(_no_axis(x, found))
    pairs = lax.reshape(x, (*x.shape[:-1], n // (new // old), new // old))
    return lax.bitcast_convert_type(pairs, found)
