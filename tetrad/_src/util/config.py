"""Settings: what a user may switch, from programs, blocks or the environment.

`config` holds every setting as an attribute (`config.jax_enable_x64`).  Values come from
the environment (`JAX_ENABLE_X64=1`) at import, from `config.update(name, value)` for the
whole process, and from context managers (`with enable_x64(): ...`) for one thread.  A
thread that enters such a block works with a snapshot of the settings until it leaves
its outermost block, so no other thread changes them under it.

A setting that this library does not act on is known by name, so that programs which
state its default run; setting it to anything else raises `NotImplementedError`.

The table of settings is in `settings.py`. Reading order: `Config`, the context managers.
"""

from __future__ import annotations

import contextlib
import os
import re
import threading
from collections.abc import Callable, Sequence
from typing import Any, Final

from tetrad._src.util.locks import make_lock
from tetrad._src.util.memo import clear_caches
from tetrad._src.util.settings import SETTINGS, Setting
from tetrad._src.util.words import nearest

__all__ = [
    "Config",
    "bounds",
    "check_tracer_leaks",
    "checking_leaks",
    "config",
    "cpu_device_count",
    "debug_infs",
    "debug_key_reuse",
    "debug_nans",
    "default_device",
    "default_matmul_precision",
    "default_prng_impl",
    "disable_jit",
    "enable_checks",
    "enable_custom_prng",
    "enable_x64",
    "key_check",
    "legacy_prng_key",
    "explain_cache_misses",
    "follow",
    "log_compiles",
    "no_tracing",
    "numpy_dtype_promotion",
    "numpy_rank_promotion",
    "scoped",
    "softmax_custom_jvp",
    "threefry_partitionable",
    "transfer_guard",
    "transfer_guard_device_to_device",
    "transfer_guard_device_to_host",
    "transfer_guard_host_to_device",
]


# --- The settings ------------------------------------------------------------------------


class Config(threading.local):
    """The settings, as attributes; change them with `update` or a context manager.

    Process-wide values are attributes of the class, and a thread's own values attributes
    of the instance as that thread sees it, so reading is one attribute access.

    `key` holds the values that compiled programs depend on, for the keys of caches.
    `key_check` says what happens when a random key is used twice: "off", "warn", "strict" or
    "error". `mode` says by which rules operands are brought together: 0 or 1, as x64 is off or on,
    if those of NumPy hold unchanged; 2 if stricter ones were asked for.
    """

    x64: bool
    key_check: str
    mode: int
    key: tuple[Any, ...]
    jax_enable_x64: bool
    jax_numpy_dtype_promotion: str
    jax_numpy_rank_promotion: str
    jax_legacy_prng_key: str
    jax_enable_custom_prng: bool
    jax_softmax_custom_jvp: bool
    jax_explicit_x64_dtypes: str
    jax_user_contexts: tuple[tuple[UserContext, Any], ...]
    jax_default_device: Any
    jax_platforms: str | None
    jax_platform_name: str
    jax_num_cpu_devices: int
    jax_transfer_guard: str | None
    jax_transfer_guard_host_to_device: str | None
    jax_transfer_guard_device_to_host: str | None
    jax_transfer_guard_device_to_device: str | None
    jax_disable_jit: bool
    jax_default_matmul_precision: str | None
    jax_debug_key_reuse: bool
    jax_debug_nans: bool
    jax_debug_infs: bool
    tetrad_bounds: str
    tetrad_key_check: str
    tetrad_memory_limit: int | None
    tetrad_code_limit: int
    jax_traceback_filtering: str

    # The blocks this thread is in: (setting, its value before), the outermost first.
    _blocks: tuple[tuple[str, Any], ...] = ()

    def update(self, name: str, value: Any) -> None:
        """Sets one setting for the whole process.

        Raises:
          AttributeError: if there is no setting of that name.
          ValueError: if the value is not one the setting can have.
          NotImplementedError: if the setting is known but not acted upon here.
          RuntimeError: if the setting can no longer change.
        """
        value = _checked(name, value)
        why = _locked.get(name)
        if why is not None and value != getattr(Config, name):
            raise RuntimeError(f"{name} can no longer change: {why}")
        with _lock:
            before = _process[name]
            _process[name] = value
            _publish()
        if name in _PLANNED and value != before:
            clear_caches("plans of ")
        if name in _switches:
            _count(name, bool(value) - bool(before))
        if name in _followers:
            _followers[name](value)
        if name == _GUARD:
            for part in GUARDS:
                self.update(part, value)
        if not self._blocks:
            return
        # The block of this thread that first set the value returns to the new one.
        blocks = list(self._blocks)
        for i, (setting, _) in enumerate(blocks):
            if setting == name:
                blocks[i] = (name, value)
                self.__dict__["_blocks"] = tuple(blocks)
                return
        _write(self.__dict__, name, value)

    def read(self, name: str) -> Any:
        """The value of one setting in this thread."""
        _setting(name)
        return getattr(self, name)

    def lock(self, name: str, why: str) -> None:
        """Says that a setting has taken effect for good: later changes are errors."""
        _setting(name)
        _locked[name] = why

    def unlock(self, name: str) -> None:
        """Undoes `lock`."""
        _locked.pop(name, None)

    def state_key(self) -> tuple[Any, ...]:
        """The same as `key`."""
        return self.key

    @property
    def values(self) -> dict[str, Any]:
        """All settings with their values in this thread."""
        return {name: getattr(self, name) for name in SETTINGS}

    @property
    def x64_enabled(self) -> bool:
        """The same as `jax_enable_x64`."""
        return self.x64

    def scope(self, name: str, value: Any) -> Block:
        """Sets one setting for this thread and the duration of a `with` block."""
        if name in _OF_THE_PROCESS:
            raise ValueError(
                f"{name} holds for the whole process: use config.update({name!r}, ...)"
            )
        return Block(name, _checked(name, value))

    def __setattr__(self, name: str, value: Any) -> None:
        raise AttributeError(
            f"settings are not assigned: write config.update({name!r}, {value!r})"
        )


class Block(contextlib.ContextDecorator):
    """One setting for one thread, for a `with` block or a decorated function."""

    __slots__ = ("name", "value")

    def __init__(self, name: str, value: Any) -> None:
        self.name = name
        self.value = value

    def __enter__(self) -> None:
        mine = config.__dict__
        if not mine:
            mine.update(_process)
        before = (self.name, mine[self.name])
        mine["_blocks"] = (*config._blocks, before)
        _write(mine, self.name, self.value)
        if self.value and self.name in _switches:
            _count(self.name, 1)

    def __exit__(self, *error: object) -> None:
        if self.value and self.name in _switches:
            _count(self.name, -1)
        mine = config.__dict__
        *outer, (name, value) = config._blocks
        if not outer:
            mine.clear()
            return
        mine["_blocks"] = tuple(outer)
        _write(mine, name, value)


class Blocks(contextlib.ContextDecorator):
    """Several settings for one thread."""

    __slots__ = ("blocks",)

    def __init__(self, *blocks: Block) -> None:
        self.blocks = blocks

    def __enter__(self) -> None:
        for block in self.blocks:
            block.__enter__()

    def __exit__(self, *error: object) -> None:
        for block in reversed(self.blocks):
            block.__exit__(*error)


# What is told when one of some settings comes on anywhere, or is off everywhere again,
# so that what it asks for costs nothing before; and in how many places each is on.
_switches: Final[dict[str, Callable[[bool], None]]] = {}
_places_on: Final[dict[str, int]] = {}


def on_switch(names: Sequence[str], told: Callable[[bool], None]) -> None:
    """Has `told` hear whether any of the settings `names` is on somewhere."""
    for name in names:
        _switches[name] = told
        _places_on[name] = 0
        _count(name, int(bool(_process[name])))


# Settings of the process, and who is told when one changes.
_OF_THE_PROCESS: Final = ("tetrad_memory_limit", "tetrad_code_limit")
_followers: Final[dict[str, Callable[[Any], None]]] = {}


def follow(name: str, told: Callable[[Any], None]) -> None:
    """Has `told` hear each new value of a setting of the process."""
    _followers[name] = told


def _count(name: str, change: int) -> None:
    told = _switches[name]
    with _lock:
        _places_on[name] += change
        told(any([_places_on[n] for n, other in _switches.items() if other is told]))


_lock: Final = make_lock()
_locked: Final[dict[str, str]] = {}
COMPILED: Final = tuple(name for name, entry in SETTINGS.items() if entry.compiles)

_GUARD: Final = "jax_transfer_guard"
GUARDS: Final = tuple(name for name in SETTINGS if name.startswith(_GUARD + "_"))

_KEY_CHECKS: Final = ("jax_debug_key_reuse", "tetrad_key_check")

# The process-wide values, with what is derived from them.
_process: Final[dict[str, Any]] = {name: e.default for name, e in SETTINGS.items()}


# Plans of calls follow these process-wide, and are made again if one changes.
_PLANNED: Final = (
    "jax_default_matmul_precision",
    "jax_explicit_x64_dtypes",
    "jax_softmax_custom_jvp",
)


def _write(values: dict[str, Any], name: str, value: Any) -> None:
    """Writes one value, and what is derived from it."""
    values[name] = value
    if name in COMPILED or name in _PLANNED:
        values["x64"] = values["jax_enable_x64"]
        values["key"] = tuple([values[compiled] for compiled in COMPILED])
        unchanged = (
            values["jax_numpy_dtype_promotion"] == "standard"
            and values["jax_numpy_rank_promotion"] == "allow"
            and all(values[planned] == _process[planned] for planned in _PLANNED)
            and values["tetrad_bounds"] != "error"
        )
        values["mode"] = int(values["x64"]) if unchanged else 2
    if name in _KEY_CHECKS:
        asked = values["tetrad_key_check"]
        strict = values["jax_debug_key_reuse"] and asked != "off"
        values["key_check"] = "error" if strict else asked


def _publish() -> None:
    """Makes the process-wide values attributes of the class."""
    for derived in ("jax_enable_x64", "tetrad_key_check"):
        _write(_process, derived, _process[derived])
    for name, value in _process.items():
        setattr(Config, name, value)


def _no_such_setting(name: str) -> str:
    meant = nearest(name, SETTINGS)
    close = [known for known in SETTINGS if name.removeprefix("jax_") in known]
    close = [meant] if meant else close
    hint = f"; did you mean {' or '.join(close[:3])}?" if close else ""
    return f"there is no setting named {name!r}{hint}"


def _setting(name: str) -> Setting:
    entry = SETTINGS.get(name)
    if entry is None:
        raise AttributeError(_no_such_setting(name))
    return entry


def _checked(name: str, value: Any) -> Any:
    """The parsed value, if the setting exists and can have it."""
    entry = _setting(name)
    value = entry.parse(name, value)
    if not entry.acts and value != entry.default:
        raise NotImplementedError(
            f"{name} can only be {entry.default!r} (its default) so far, got {value!r}. "
            f"The setting: {entry.meaning}"
        )
    return value


def _read_environment() -> None:
    for name in SETTINGS:
        value = os.environ.get(name.upper())
        if value is None:
            continue
        try:
            _process[name] = _checked(name, value)
        except (ValueError, NotImplementedError) as error:
            problem = f"the environment variable {name.upper()}={value!r}: {error}"
            raise type(error)(problem) from None
        if name == _GUARD:  # comes before its parts, which may differ
            _process.update(dict.fromkeys(GUARDS, _process[name]))
    _publish()


_read_environment()
config: Final = Config()

_FORCED_DEVICES: Final = re.compile(r"--xla_force_host_platform_device_count=(\d+)")


def cpu_device_count() -> int:
    """How many CPU devices were asked for: the setting, else XLA_FLAGS, else one."""
    wanted = config.jax_num_cpu_devices
    if wanted >= 1:
        return wanted
    if wanted != -1:
        raise ValueError(
            f"jax_num_cpu_devices must be at least 1 (or -1 for the default), got {wanted}"
        )
    found = _FORCED_DEVICES.findall(os.environ.get("XLA_FLAGS", ""))
    return max(1, int(found[-1])) if found else 1


# --- Context managers --------------------------------------------------------------------


class scoped:
    """Context managers for one setting: `with enable_x64(True): ...`.

    Called with a value it gives a context manager; `.value` reads the setting.
    """

    __slots__ = ("_default", "name")

    def __init__(self, name: str, default: Any = ...) -> None:
        self.name = name
        self._default = default

    def __call__(self, new_val: Any = ...) -> Any:
        if new_val is ...:
            new_val = self._default
        if new_val is ...:
            raise TypeError(f"a value for {self.name} is missing")
        return config.scope(self.name, new_val)

    @property
    def value(self) -> Any:
        """The value in this thread."""
        return config.read(self.name)

    def get_global(self) -> Any:
        """The value for threads that set none of their own."""
        return getattr(Config, self.name)

    def __repr__(self) -> str:
        return f"<context manager of {self.name}>"


class _KeyReuse(scoped):
    """As JAX's: True makes the reuse of a key an error, False has nobody look."""

    __slots__ = ()

    def __call__(self, new_val: Any = True) -> Any:
        flag = config.scope(self.name, new_val)
        return Blocks(
            flag, config.scope("tetrad_key_check", "error" if new_val else "off")
        )


class _DisableJit(scoped):
    """As JAX's, whose argument has another name."""

    __slots__ = ()

    def __call__(self, disable: bool = True) -> Any:
        return config.scope(self.name, disable)


class _Guard(scoped):
    """Sets the guards of all three directions."""

    __slots__ = ()

    def __call__(self, value: Any = ...) -> Any:
        if value is ...:
            return super().__call__()
        return Blocks(*[config.scope(name, value) for name in (*GUARDS, _GUARD)])


enable_x64: Final = scoped("jax_enable_x64", True)
bounds: Final = scoped("tetrad_bounds")
disable_jit: Final = _DisableJit("jax_disable_jit", True)
default_device: Final = scoped("jax_default_device")
default_matmul_precision: Final = scoped("jax_default_matmul_precision")
default_prng_impl: Final = scoped("jax_default_prng_impl")
numpy_dtype_promotion: Final = scoped("jax_numpy_dtype_promotion")
numpy_rank_promotion: Final = scoped("jax_numpy_rank_promotion")
debug_nans: Final = scoped("jax_debug_nans", True)
debug_infs: Final = scoped("jax_debug_infs", True)
debug_key_reuse: Final = _KeyReuse("jax_debug_key_reuse", True)
key_check: Final = scoped("tetrad_key_check")
check_tracer_leaks: Final = scoped("jax_check_tracer_leaks", True)
checking_leaks: Final = check_tracer_leaks  # its older name
enable_checks: Final = scoped("jax_enable_checks", True)
enable_custom_prng: Final = scoped("jax_enable_custom_prng", True)
legacy_prng_key: Final = scoped("jax_legacy_prng_key")
softmax_custom_jvp: Final = scoped("jax_softmax_custom_jvp", True)
threefry_partitionable: Final = scoped("jax_threefry_partitionable", True)
log_compiles: Final = scoped("jax_log_compiles", True)
explain_cache_misses: Final = scoped("jax_explain_cache_misses", True)
no_tracing: Final = scoped("jax_no_tracing", True)
transfer_guard: Final = _Guard(_GUARD)
transfer_guard_host_to_device: Final = scoped("jax_transfer_guard_host_to_device")
transfer_guard_device_to_host: Final = scoped("jax_transfer_guard_device_to_host")
transfer_guard_device_to_device: Final = scoped("jax_transfer_guard_device_to_device")


class UserContext:
    """A value of the user's on which traces and compiled programs depend."""

    __slots__ = ("_default",)

    def __init__(self, default: Any) -> None:
        self._default = default

    @property
    def value(self) -> Any:
        """The value in this thread."""
        return dict(config.jax_user_contexts).get(self, self._default)

    def __call__(self, value: Any) -> Block:
        """A `with` block in which the context has another value."""
        return config.scope("jax_user_contexts", self._changed(config, value))

    def get_global(self) -> Any:
        """The value for the whole process."""
        return dict(Config.jax_user_contexts).get(self, self._default)

    def set_global(self, value: Any) -> None:
        """Sets the value for the whole process."""
        config.update("jax_user_contexts", self._changed(Config, value))

    def _changed(self, where: Any, value: Any) -> tuple[tuple[UserContext, Any], ...]:
        pairs = {**dict(where.jax_user_contexts), self: value}
        return tuple(pairs.items())


def make_user_context(default_value: Any = None) -> UserContext:
    """A value of yours on which compiled functions depend: each is traced for each value.

    The values must have a hash. `context.value` reads it, also while a function is traced.

    >>> import tetrad as jax
    >>> unit = jax.make_user_context("m")
    >>> @jax.jit
    ... def size(x):
    ...     return x * (1000 if unit.value == "mm" else 1)
    >>> with unit("mm"):
    ...     print(size(2))
    2000
    >>> print(size(2))
    2
    """
    return UserContext(default_value)
