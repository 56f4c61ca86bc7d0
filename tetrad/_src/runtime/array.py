"""The array that users hold: a handle, and while it is pending, a node of the recording.

One slotted object is both. It is *pending* while `buffer` is None: then `entry` and
`args` say what it is the result of. It is *ready* once it has a buffer of its device
(the work may still run there). What an array does beyond that, it asks the recorder:
`lazy.py` installs `_force` here, the one port between the two files.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from tetrad._src.core.avals import Aval
from tetrad._src.core.bind import Value
from tetrad._src.core.sharding import Sharding
from tetrad._src.runtime import transfers
from tetrad._src.runtime.device import (
    Device,
    Floating,
    Placement,
    SingleDeviceSharding,
)
from tetrad._src.util import dtypes, errors, frames, source
from tetrad._src.util.frames import format_where


class Deleted:
    """Stands in the place of the buffer of a deleted array, and says who deleted it."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why


class ArrayType(type):
    """Lets `isinstance(x, Array)` be true of tracers too: code that asks means both."""

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Value)


class Shard(NamedTuple):
    """A part of an array: where it lies, which elements it has, and these."""

    device: Device
    index: tuple[slice, ...]  # type: ignore[assignment]
    replica_id: int
    data: Array


class Array(Value, metaclass=ArrayType):
    """An immutable array on a device."""

    __slots__ = (
        "aval",
        "placement",
        "buffer",
        "entry",
        "args",
        "where",
        "uses",
        "position",
        "epoch",
        "tape",
        "note",
        "extremes",
        "__weakref__",
    )

    aval: Aval
    placement: Placement
    buffer: Any  # None while pending
    entry: Any  # how it is computed, while pending
    args: tuple[Any, ...]
    where: Any  # the user line that made it: (code, lasti)
    uses: int  # operands of pending operations that are this array; set by each flush
    position: int  # number in the program being closed; leaves count from -1 down
    epoch: int  # the last flush that needed it
    tape: Any  # where it is recorded
    note: Any  # what the language keeps about it; most arrays have none
    extremes: tuple[int, int]  # of integers, once an index that they are was looked at

    _force: Callable[[Array], Any]  # installed by lazy.py, and so is
    _submit: Callable[[], None]  # what submits all that is pending

    # -- where it lives --------------------------------------------------------

    @property
    def device(self) -> Device:
        """The device that holds the array."""
        if type(self.placement) is Floating:
            Array._force(self)
        return self.placement.device

    def devices(self) -> set[Device]:
        """The devices that hold the array."""
        return {self.device}

    @property
    def sharding(self) -> Sharding:
        """The devices that hold the array, in the words in which it was placed."""
        place = self.placement
        named = place.sharding
        if named is None:
            return SingleDeviceSharding(self.device)
        return named.for_rank(self.aval.ndim)

    @property
    def committed(self) -> bool:
        """Whether the user placed it; uncommitted arrays follow others."""
        return self.placement.is_committed

    _committed = committed

    @property
    def nbytes(self) -> int:
        return self.aval.nbytes

    @property
    def itemsize(self) -> int:
        return int(self.aval.dtype.itemsize)

    @property
    def addressable_shards(self) -> list[Shard]:
        """The parts of the array by device: one, for an array lies on one device."""
        index = (slice(None),) * self.aval.ndim
        return [Shard(self.placement.device, index, 0, self)]

    global_shards = addressable_shards

    def addressable_data(self, index: int) -> Array:
        """The data of part `index`."""
        return self.addressable_shards[index].data

    @property
    def is_fully_addressable(self) -> bool:
        return True

    @property
    def is_fully_replicated(self) -> bool:
        return True

    # -- when it is there --------------------------------------------------------

    @frames.trims_itself
    def block_until_ready(self) -> Array:
        """Waits until the value is computed; returns the array itself."""
        try:
            buffer = self.buffer
            if buffer is None:
                buffer = Array._force(self)
            elif type(buffer) is Deleted:
                raise deleted(self)
            buffer.wait()
            return self
        except BaseException as error:
            frames.trim_traceback(error)
            raise

    def is_ready(self) -> bool:
        """Whether `block_until_ready` would return at once."""
        buffer = self.buffer
        if type(buffer) is Deleted:
            raise deleted(self)
        return buffer is not None and bool(buffer.ready())

    def copy_to_host_async(self) -> None:
        """Starts the computation; on the CPU there is nothing to copy."""
        ready_buffer(self)

    def delete(self) -> None:
        """Frees the memory now; using the array afterwards is an error."""
        if self.buffer is None:
            Array._force(self)
        if type(self.buffer) is not Deleted:
            give_up(self, "deleted with .delete()")

    def is_deleted(self) -> bool:
        return type(self.buffer) is Deleted

    def unsafe_buffer_pointer(self) -> int:
        """The address of the first element, once computed."""
        buffer = ready_buffer(self)
        buffer.wait()
        return int(buffer.address())

    # -- to Python and NumPy ------------------------------------------------------

    def _host(self) -> np.ndarray[Any, Any]:
        """A read-only host array of the value, which keeps the buffer alive."""
        buffer = ready_buffer(self)
        host: np.ndarray[Any, Any] = self.placement.device.backend.get(
            buffer, self.aval
        )
        return host

    def _peek(self) -> np.ndarray[Any, Any] | None:
        """The value, if it can be seen at once and without a copy; else None."""
        if type(self.placement) is Floating and self.args:
            data: np.ndarray[Any, Any] = self.args[0]
            return data
        buffer = self.buffer
        if buffer is None or type(buffer) is Deleted or not buffer.ready():
            return None
        return self._host() if self.placement.device.backend.shares_host else None

    def _read(self) -> np.ndarray[Any, Any]:
        """`_host` for users: who wants to know of reads hears of it."""
        if transfers.listened():
            transfers.read(self.aval, self.placement.device)
        return self._host()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        if dtypes.is_key(self.aval.dtype):
            raise TypeError(
                "a typed random key has no NumPy form; use"
                " jax.random.key_data(key) to see its words"
            )
        host = self._read()
        if dtype is not None and np.dtype(dtype) != host.dtype:
            if copy is False:
                raise ValueError(
                    f"a {host.dtype} array cannot become {np.dtype(dtype)} without a copy"
                )
            return host.astype(dtype)
        return host.copy() if copy else host

    def _scalar(self, word: str) -> Any:
        if self.aval.size != 1:
            raise TypeError(
                f"{_asked(f'{word}(x)')}: only arrays of one element become a Python"
                f" {word}; this one is {self.aval.long_name()}. To convert all elements,"
                f" write {_converted(word)}"
            )
        return self._read().reshape(())[()]

    def item(self, *index: int) -> Any:
        """The element as a Python scalar."""
        if not index and self.aval.size != 1:
            raise ValueError(
                f"x.item(): it needs an array of one element, got {self.aval.long_name()};"
                " give an index, or use x.tolist()"
            )
        return self._read().item(*index)

    def tolist(self) -> Any:
        return self._read().tolist()

    def tobytes(self, order: str = "C") -> bytes:
        return self._read().tobytes(order)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        if self.aval.size != 1:
            raise ValueError(_ambiguous(self.aval))
        return bool(self._read().reshape(())[()])

    def __float__(self) -> float:
        return float(self._scalar("float"))

    def __int__(self) -> int:
        return int(self._scalar("int"))

    def __complex__(self) -> complex:
        return complex(self._scalar("complex"))

    def __index__(self) -> int:
        if self.aval.kind not in "iub" or self.aval.ndim:
            raise TypeError(
                f"{_asked('x')}: Only integer scalar arrays can be converted to a scalar"
                f" index. This one is {self.aval.long_name()}"
                f"{'; int(x) converts it' if self.aval.size == 1 else ''}"
            )
        return int(self._scalar("int"))

    def __format__(self, spec: str) -> str:
        if self.aval.ndim == 0 and not dtypes.is_key(self.aval.dtype):
            return format(self._read()[()], spec)
        return format(str(self), spec)

    def __len__(self) -> int:
        if not self.aval.ndim:
            raise TypeError(
                f"{_asked('len(x)')}: {self.aval.long_name()} has no axes, so no length;"
                " x.size is the number of elements"
            )
        return self.aval.shape[0]

    # -- protocols --------------------------------------------------------------

    def __dlpack__(
        self,
        *,
        stream: Any = None,
        max_version: tuple[int, int] | None = None,
        dl_device: tuple[int, int] | None = None,
        copy: bool | None = None,
    ) -> Any:
        """The value in DLPack form, for other libraries.

        Consumers older than DLPack 1.0 cannot be told that it must not be written to,
        and get a copy.
        """
        host = self._read()
        if host.dtype.isbuiltin != 1:
            bits = dtypes.itemsize_bits(host.dtype)
            advice = (
                "x.astype('int8')" if bits < 8 else f"the bits, x.view('uint{bits}')"
            )
            raise BufferError(
                f"an array of dtype {host.dtype.name} cannot be given to other libraries"
                f" by DLPack: NumPy writes it here, and does not know the dtype. Give"
                f" {advice}"
            )
        if copy is None and (max_version is None or max_version[0] < 1):
            host = host.copy()
        return host.view().__dlpack__(
            stream=stream, max_version=max_version, dl_device=dl_device, copy=copy
        )

    def __dlpack_device__(self) -> tuple[int, int]:
        return (1, 0)

    def __reduce__(self) -> tuple[Any, ...]:
        if dtypes.is_key(self.aval.dtype):
            return _restore_key, (self.aval, self._read())
        return _restore, (self._read(), self.aval.weak_type)

    def __copy__(self) -> Array:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Array:
        return duplicate(self)

    def on_device_size_in_bytes(self) -> int:
        return self.aval.nbytes


def _asked(otherwise: str) -> str:
    """The user's expression that asked for a number."""
    place = frames.user_frame()
    text = frames.expression_at(*place) if place is not None else None
    return text if text and len(text) <= source.LONGEST else otherwise


def _converted(word: str) -> str:
    """`x.astype(float)` in place of the user's `float(x)`."""
    text = _asked("")
    found = source.operands(text, 1) if text.startswith(f"{word}(") else None
    return f"{found[0] if found and found[0].isidentifier() else 'x'}.astype({word})"


def _ambiguous(aval: Aval) -> str:
    """The message for an array of several elements where a condition is needed."""
    message = (
        f"{_asked('bool(x)')}: the truth value of an array of {aval.size} elements"
        f" ({aval.long_name()}) is ambiguous. Write jnp.all(...) or jnp.any(...) for one"
        " answer about all elements"
    )
    place = frames.user_frame()
    instead = source.choice(place).instead if place is not None else None
    if instead is not None:
        return f"{message}; to choose or combine element by element, `{instead}`"
    return f"{message}; to choose element by element, jnp.where(condition, a, b)"


new_array = Array.__new__


def ready_buffer(x: Array) -> Any:
    """The buffer of `x`, submitted if it was pending; an error if deleted."""
    buffer = x.buffer
    if buffer is None:
        return Array._force(x)
    if type(buffer) is Deleted:
        raise deleted(x)
    return buffer


class DeletedPlacement(Placement):
    """The placement of a deleted array: meeting it in an operation raises."""

    __slots__ = ("before",)
    before: Placement


def give_up(x: Array, why: str) -> None:
    """Deletes an array that pending work may still read."""
    Array._submit()
    mark_deleted(x, why)


def mark_deleted(x: Array, why: str) -> None:
    before = x.placement
    placement = DeletedPlacement(before.device, before.is_committed, before.sharding)
    x.placement = placement
    x.buffer = Deleted(why)
    x.args = ()
    x.entry = None


def deleted(x: Array) -> errors.DeletedArrayError:
    why = x.buffer.why if type(x.buffer) is Deleted else "deleted"
    return errors.DeletedArrayError(
        f"Array has been deleted: the {x.aval.long_name()} array made at"
        f" {format_where(x.where)} was {why}. Keep a copy"
        " (x.copy()) if you need it afterwards."
    )


# -- what unpickling calls; wiring installs how a host array becomes an array ---------


def from_host(host: np.ndarray[Any, Any], aval: Aval) -> Array:
    raise RuntimeError("no recorder is installed")


def duplicate(x: Array) -> Array:
    raise RuntimeError("no recorder is installed")


def _restore(host: np.ndarray[Any, Any], weak_type: bool) -> Array:
    return from_host(host, Aval(host.shape, host.dtype, weak_type))


def _restore_key(aval: Aval, host: np.ndarray[Any, Any]) -> Array:
    return from_host(host, aval)
