"""Host data becomes arrays: `array`, `asarray`, and what the other functions accept.

Anything array-like comes in (arrays, tracers, NumPy arrays and scalars, Python numbers,
nested lists of these); a `Value` goes out. `device_array` and `relocate` are ports: wiring
puts the runtime behind them.

Read `operand` first (what a function of one array takes), then `array`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from tetrad._src.core.bind import Value, aval_of, home_of, making_at
from tetrad._src.numpy import lax
from tetrad._src.numpy.dtype import (
    PYTHON_NUMBERS,
    dtype_argument,
    install_constructor,
    python_kind,
)
from tetrad._src.util import dtypes, frames
from tetrad._src.util.config import config

_PLAIN = frozenset(PYTHON_NUMBERS)


# ------------------------------------------------------------------------------- ports


def device_array(host: np.ndarray, weak_type: bool) -> Value:
    """A device array with a copy of `host`. Wiring replaces this function."""
    raise RuntimeError("no runtime is installed: import tetrad, not its parts")


def passing_array(host: np.ndarray, weak_type: bool) -> Value:
    """A copy of `host` as an operand, on the device where the operation will run.

    Wiring replaces this function.
    """
    raise RuntimeError("no runtime is installed: import tetrad, not its parts")


def relocate(x: Value, device: Any) -> Value:
    """`x` on `device`. Wiring replaces this function."""
    raise RuntimeError("no runtime is installed: import tetrad, not its parts")


def placing(device: Any) -> AbstractContextManager[None]:
    """A block in which new arrays are made on `device`. Wiring replaces this function."""
    raise RuntimeError("no runtime is installed: import tetrad, not its parts")


def install(
    put: Callable[[np.ndarray, bool], Value],
    pass_on: Callable[[np.ndarray, bool], Value] | None = None,
    move: Callable[[Value, Any], Value] | None = None,
    place: Callable[[Any], AbstractContextManager[None]] | None = None,
) -> None:
    """Fills the ports: `put(host, weak_type)`, `pass_on` (the same for operands),
    `move(x, device)` and `place(device)`."""
    global device_array, passing_array, relocate, placing
    device_array = put  # type: ignore[assignment]
    passing_array = put if pass_on is None else pass_on  # type: ignore[assignment]
    if move is not None:
        relocate = move  # type: ignore[assignment]
    if place is not None:
        placing = place  # type: ignore[assignment]


def on_device(x: Value, device: Any) -> Value:
    return x if device is None else relocate(x, device)


def array_beside(host: np.ndarray, *arrays: Any) -> Value:
    """A host array that was computed from `arrays`, on the device where one of them is
    committed."""
    homes = [home for x in arrays if (home := home_of(x)) is not None]
    with making_at(homes[0] if homes else None):
        return device_array(host, False)


def there(device: Any, function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """`function(*args, **kwargs)` with all that it makes on `device`, and the result.

    Arrays among the arguments go there first.
    """
    args = tuple([relocate(a, device) if isinstance(a, Value) else a for a in args])
    with placing(device):
        made = function(*args, **kwargs)
    if isinstance(made, tuple):
        return tuple([relocate(x, device) for x in made])
    return relocate(made, device)


# ------------------------------------------------------------------ what functions take


def operand(x: Any, name: str, argument: str = "") -> Any:
    """`x` as something an operation takes: a Value, or a scalar of the host.

    Host arrays become device arrays; a host array without axes becomes a scalar.
    Raises TypeError for lists and whatever else is no array.
    """
    if isinstance(x, Value) or type(x) in _PLAIN:
        return x
    if isinstance(x, np.generic):
        return host_scalar(x, name)
    if isinstance(x, PYTHON_NUMBERS):
        return python_kind(x)(x)
    if isinstance(x, np.ndarray):
        if x.ndim:
            return from_host(x, name)
        return host_scalar(x[()], name)  # type: ignore[arg-type]
    if hasattr(x, "__jax_array__"):
        return operand(x.__jax_array__(), name, argument)
    raise TypeError(_not_an_array(x, name, argument))


def operands(name: str, args: Sequence[Any]) -> list[Any]:
    return [operand(x, name, f"argument {i}") for i, x in enumerate(args)]


def value(x: Any, name: str, argument: str = "") -> Any:
    """`x` as a Value: scalars of the host become device arrays too.

    (Typed as Any, since the operators of arrays are installed at run time.)
    """
    if isinstance(x, Value):
        return x
    x = operand(x, name, argument)
    if isinstance(x, Value):
        return x
    aval = aval_of(x)
    dtypes.check_narrowing(x, aval.dtype, f"{name}: the Python integer")
    return passing_array(np.asarray(x, aval.dtype), aval.weak_type)


def array_like(x: Any) -> bool:
    """Whether operators work on `x`: what is not can have its own reflected method."""
    return isinstance(x, (Value, np.ndarray, np.generic, *PYTHON_NUMBERS)) or hasattr(
        x, "__jax_array__"
    )


def _not_an_array(x: Any, name: str, argument: str) -> str:
    which = argument if " " in argument else f"argument `{argument}`"
    which = which if argument else "the argument"
    if isinstance(x, (list, tuple)):
        return (
            f"{name}: {which} is a {type(x).__name__}, not an array: write"
            f" jnp.array({_shortened(x)}), so that the copy to the device is visible"
        )
    if x is None:
        return f"{name}: {which} is None, not an array or a number"
    return (
        f"{name}: {which} is {_shortened(x)} of type {type(x).__name__}, not an array or"
        " a number"
    )


def _shortened(x: Any) -> str:
    text = repr(x)
    if " at 0x" in text:  # where it lies tells nobody anything
        return f"<{getattr(x, '__name__', type(x).__name__)}>"
    return text if len(text) <= 40 else "…"


def describe(x: Any) -> str:
    """An argument in a message: `float32[3,4]`, or the number itself."""
    if isinstance(x, Value):
        return x.aval.long_name()
    if type(x) in _PLAIN:
        return repr(x)
    return aval_of(x).long_name()


# ------------------------------------------------------------------------- host to device


def host_scalar(x: np.generic, name: str) -> Any:
    """A NumPy scalar in the width that arrays have now."""
    if x.dtype.kind in "OSUMm" or x.dtype.names:
        raise TypeError(_no_such_dtype(np.asarray(x), name))
    dtype = dtypes.canonicalize_dtype(x.dtype)
    if dtype == x.dtype:
        return x
    dtypes.check_narrowing(x, dtype, f"{name}: the value")
    return dtype.type(x)


def from_host(x: np.ndarray, name: str, dtype: Any = None) -> Any:
    """A host array as an operand, in the width that arrays have now."""
    return passing_array(canonical_host(x, name, dtype), False)


def canonical_host(x: np.ndarray, name: str, dtype: Any = None) -> np.ndarray:
    """`x` in `dtype`, or in its own dtype as far as arrays may be so wide now."""
    if x.dtype.kind in "OSUMm" or x.dtype.names:
        raise TypeError(_no_such_dtype(x, name))
    if dtype is None:
        dtype = dtypes.canonicalize_dtype(x.dtype)
        dtypes.check_narrowing(x, dtype, f"{name}: the value")
    if dtypes.kind(dtype) != "c" and x.dtype.kind == "c":
        x = x.real
    return np.asarray(x, dtype) if x.dtype != dtype else x


def _no_such_dtype(x: np.ndarray, name: str) -> str:
    if x.dtype.kind in "SU":
        return f"{name}: arrays hold numbers, not text ({_shortened(x.tolist())})"
    if x.dtype.kind in "Mm":
        return (
            f"{name}: arrays hold numbers, not {x.dtype}. Convert dates to numbers"
            ' first, for example (t - t[0]) / np.timedelta64(1, "s")'
        )
    if x.dtype == dtypes.float0:
        return (
            f"{name}: float0s do not support any operations by design: they are the"
            " derivatives of integers and bools, of which there are none. Write"
            " jnp.zeros(x.shape) if zeros are meant"
        )
    return (
        f"{name}: arrays hold numbers, got {_shortened(x.tolist())} (NumPy dtype"
        f" {x.dtype})"
    )


def number_as(x: Any, dtype: Any, weak: bool, name: str) -> Any:
    """The host scalar `x` in `dtype`.

    It stays a Python number, which is weakly typed, where that already means `dtype`:
    then no program is specialised on its type.
    """
    kind = dtypes.kind(dtype)
    if kind not in _TYPE:
        raise TypeError(
            f"{name}: random keys are no numbers; jax.random.key_data(key) gives the"
            " numbers behind them"
        )
    plain = type(x) in _PLAIN
    if kind in "iu" and plain and type(x) is not bool:
        dtypes.check_narrowing(x, dtype, f"{name}: the Python integer")
    # A Python bool is not weak: as another number it has exactly that dtype.
    may_be_weak = weak or (plain and (kind == "b" or type(x) is not bool))
    if may_be_weak and dtypes.python_scalar_dtype(_TYPE[kind], config.x64) == dtype:
        return _TYPE[kind](x)
    if plain and type(x) is int and kind in "fc":
        x = float(x)
    return dtype.type(x)


_TYPE: dict[str, type] = {"b": bool, "i": int, "u": int, "f": float, "c": complex}


# ------------------------------------------------------------------------ array, asarray


def array(
    object: Any,
    dtype: Any = None,
    copy: bool = True,
    order: str | None = "K",
    ndmin: int = 0,
    *,
    device: Any = None,
) -> Value:
    """Makes an array from numbers, nested lists, NumPy arrays and arrays.

    The result has the shape of the nesting and, unless `dtype` is given, the dtype that
    the elements promote to; a lone Python number gives a weakly typed array. The data
    is copied. Raises TypeError for elements that are no numbers, ValueError for ragged
    nesting, OverflowError for integers that the dtype cannot hold.

    >>> import tetrad.numpy as jnp
    >>> jnp.array([[1, 2], [3, 4]], dtype=jnp.float32)
    Array([[1., 2.],
           [3., 4.]], dtype=float32)
    """
    if device is not None:
        return there(device, array, object, dtype, copy, order, ndmin)  # type: ignore[no-any-return]
    if order not in (None, "K", "A", "C"):
        raise NotImplementedError(
            f"jnp.array: order={order!r} is not available, arrays are row-major"
        )
    given = None if dtype is None else dtype_argument(dtype, "jnp.array")
    x = _make(object, given, "jnp.array")
    if copy and x is object:
        x = fresh_copy(x)
    if x.ndim < ndmin:
        x = prepend_axes(x, ndmin)
    return x


def asarray(
    a: Any,
    dtype: Any = None,
    order: str | None = None,
    *,
    copy: bool | None = None,
    device: Any = None,
) -> Value:
    """Makes an array of `a` as `array` does, but gives `a` itself if it is one.

    `copy=True` always copies; `copy=False` raises ValueError where that is impossible.

    >>> import tetrad.numpy as jnp
    >>> x = jnp.arange(3)
    >>> jnp.asarray(x) is x
    True
    """
    if device is not None:
        return there(device, asarray, a, dtype, order, copy=copy)  # type: ignore[no-any-return]
    if copy:
        return array(a, dtype, True, order)
    given = None if dtype is None else dtype_argument(dtype, "jnp.asarray")
    x = _make(a, given, "jnp.asarray")
    if copy is False and x is not a:
        raise ValueError(
            f"jnp.asarray: copy=False, but {type(a).__name__} data must be copied to"
            " become an array of this dtype; leave copy out"
        )
    return x


def fresh_copy(x: Value) -> Value:
    """A new array with the elements of `x`."""
    return lax.copy(x)


def prepend_axes(x: Value, ndim: int) -> Value:
    """`x` with axes of extent 1 in front until it has `ndim` axes."""
    missing = ndim - x.ndim
    shape = (1,) * missing + x.shape
    return lax.broadcast_in_dim(x, shape, tuple(range(missing, ndim)))


def _make(x: Any, dtype: Any, name: str) -> Value:
    if isinstance(x, Value):
        return as_dtype(x, dtype)
    if isinstance(x, np.ndarray):
        return device_array(canonical_host(x, name, dtype), False)
    if isinstance(x, np.generic):
        return device_array(canonical_host(np.asarray(x), name, dtype), False)
    if isinstance(x, PYTHON_NUMBERS):
        return _from_number(x, dtype, name)
    if hasattr(x, "__jax_array__"):
        return as_dtype(_make(x.__jax_array__(), None, name), dtype)
    if x is None:
        raise TypeError(f"{name}: None is no array; write jnp.nan or leave it out")
    if isinstance(x, (list, tuple)):
        return _from_nested(x, dtype, name)
    if isinstance(x, (str, bytes)) or not _host_readable(x):
        raise TypeError(
            f"{name}: cannot make an array of {_shortened(x)}"
            f" ({type(x).__name__}); give numbers, nested lists or arrays"
        )
    return device_array(canonical_host(np.asarray(x), name, dtype), False)


def _host_readable(x: Any) -> bool:
    if isinstance(x, range) or hasattr(x, "__array__"):
        return True
    if hasattr(x, "__array_interface__"):
        return True
    try:
        memoryview(x)
    except TypeError:
        return False
    return True


def as_dtype(x: Value, dtype: Any) -> Value:
    """`x` converted to `dtype` (strong), or as it is for None."""
    return x if dtype is None else lax.convert_element_type(x, dtype)


def _from_number(x: Any, dtype: Any, name: str) -> Value:
    kind = python_kind(x)
    weak = dtype is None and kind is not bool
    if dtype is None:
        dtype = dtypes.python_scalar_dtype(kind, config.x64)
    return device_array(_filled([x], dtype, name, True).reshape(()), weak)


def _check_floats(host: np.ndarray, dtype: Any, name: str) -> None:
    """Refuses Python floats of which `dtype`, an integer type, has no whole part."""
    if not np.isfinite(host).all():
        wrong = host[~np.isfinite(host)][0]
        raise ValueError(
            f"{name}: {wrong} is no integer, so it has no value in {dtype.name}"
        )
    limits = dtypes.iinfo(dtype)
    whole = np.trunc(host)
    outside = (whole < float(limits.min)) | (whole >= float(limits.max) + 1)
    if outside.any():
        raise OverflowError(
            f"{name}: the number {host[outside][0]} does not fit {dtype.name}"
            f" ({limits.min} to {limits.max}): give a wider dtype, or keep it a float"
        )


def _filled(numbers: Any, dtype: Any, name: str, scalar: bool = False) -> np.ndarray:
    """A host array of Python numbers in `dtype`; refuses integers that do not fit."""
    kind = dtypes.kind(dtype)
    host = np.asarray(numbers)
    dtypes.check_narrowing(
        host[0] if scalar else host, dtype, f"{name}: the Python integer"
    )
    if host.dtype.kind == "f" and kind in "iu":
        _check_floats(host, dtype, name)
    if host.dtype.kind == "O":
        host = np.asarray(numbers, {"f": float, "c": complex}.get(kind, dtype))
    if host.dtype.kind == "c" and kind != "c":
        raise TypeError(
            f"{name}: complex numbers have no value in {dtype.name}; take .real"
        )
    return host.astype(dtype)


# ------------------------------------------------------------------------- nested lists


def _leaves(x: Any) -> Iterator[Any]:
    stack = [x]
    while stack:
        item = stack.pop()
        if isinstance(item, (list, tuple)):
            stack.extend(reversed(item))
        else:
            yield item


def _from_nested(x: Sequence[Any], dtype: Any, name: str) -> Value:
    kinds = set(map(type, _leaves(x)))
    if kinds <= _PLAIN:
        found = dtype
        if found is None:
            widest = max(kinds, key=PYTHON_NUMBERS.index, default=float)
            found = dtypes.python_scalar_dtype(widest, config.x64)
        _check_rectangular(x, name)
        return device_array(_filled(x, found, name), False)
    if type(None) in kinds:
        raise TypeError(f"{name}: None among the elements; write jnp.nan for a gap")
    if any(issubclass(k, (str, bytes)) for k in kinds):
        raise TypeError(f"{name}: arrays hold numbers, not text ({_shortened(x)})")
    if not any(issubclass(k, Value) or hasattr(k, "__jax_array__") for k in kinds):
        _check_rectangular(x, name)
        host = np.array(x)
        found = _joined_dtype(x) if dtype is None else dtype
        dtypes.check_narrowing(host, found, f"{name}: the value")
        return device_array(canonical_host(host, name, found), False)
    return _stacked(x, _joined_dtype(x) if dtype is None else dtype, name)


def _joined_dtype(x: Any) -> Any:
    avals = {aval_of(item) for item in _leaves(x)}
    return dtypes.lattice_result(*[(a.dtype, a.weak_type) for a in avals])[0]


def _stacked(x: Any, dtype: Any, name: str) -> Value:
    if not isinstance(x, (list, tuple)):
        return as_dtype(_make(x, None, name), dtype)
    if not x:
        return device_array(np.zeros((0,), dtype), False)
    parts = [_stacked(item, dtype, name) for item in x]
    shape = parts[0].shape
    for index, part in enumerate(parts):
        if part.shape != shape:
            raise ValueError(
                f"{name}: ragged nesting, element 0 has shape {shape} and element"
                f" {index} has shape {part.shape}"
            )
    new_axis = tuple(range(1, len(shape) + 1))
    rows = [lax.broadcast_in_dim(part, (1, *shape), new_axis) for part in parts]
    return rows[0] if len(rows) == 1 else lax.concatenate(rows, 0)


def _check_rectangular(x: Any, name: str) -> None:
    try:
        np.shape(x)
    except ValueError:
        lengths = [len(i) if isinstance(i, (list, tuple)) else "a number" for i in x]
        raise ValueError(
            f"{name}: ragged nesting, the elements have lengths {lengths[:8]}; rows"
            " must have one length. Pad them, or keep a list of arrays"
        ) from None


install_constructor(frames.hide_frames(lambda x, dtype: asarray(x, dtype)))
