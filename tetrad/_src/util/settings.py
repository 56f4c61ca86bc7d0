"""The table of settings: what each may be, what it means, whether it does something.

In: nothing. Out: `SETTINGS`, which `config.py` makes attributes, environment variables
and context managers of. First come the parsers of values, then the table.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any, Final, NamedTuple

from tetrad._src.util.sizes import parse_bytes

# --- Parsing values ----------------------------------------------------------------------


def _boolean(name: str, value: Any) -> bool:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("1", "true", "yes", "on", "y", "t"):
            return True
        if word in ("0", "false", "no", "off", "n", "f", ""):
            return False
    elif value is None or isinstance(value, int):
        return bool(value)
    elif hasattr(value, "__bool__"):
        with contextlib.suppress(ValueError):  # arrays of several elements
            return bool(value)
    raise ValueError(f"{name} must be True or False, got {value!r}")


def _integer(name: str, value: Any) -> int:
    try:
        return int(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be an integer, got {value!r}") from None


def _bytes(name: str, value: Any) -> int:
    return parse_bytes(name, value)


def _bytes_or_none(name: str, value: Any) -> int | None:
    return None if value is None else parse_bytes(name, value)


def _text(name: str, value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    raise ValueError(f"{name} must be a string or None, got {value!r}")


def _anything(name: str, value: Any) -> Any:
    return value


def _one_of(*choices: str | None) -> Callable[[str, Any], str | None]:
    def parse(name: str, value: Any) -> str | None:
        value = getattr(value, "value", value)
        if value not in choices:
            listed = ", ".join(repr(choice) for choice in choices)
            raise ValueError(f"{name} must be one of {listed}; got {value!r}")
        return value  # type: ignore[no-any-return]

    return parse


def _precision(name: str, value: Any) -> Any:
    if getattr(value, "name", value) in _ALGORITHMS:
        return getattr(value, "name", value)
    return _one_of(*_PRECISIONS, *_ALGORITHMS)(name, value)


def _bounds(name: str, value: Any) -> Any:
    value = "off" if value == "ignore" else value
    return _one_of("off", "warn", "error")(name, value)


def _device(name: str, value: Any) -> Any:
    if value is None or isinstance(value, str) or hasattr(value, "platform"):
        return value or None
    raise ValueError(
        f"{name} must be a device such as jax.devices('cpu')[0], the name of a platform"
        f" such as 'cpu', or None; got {value!r}"
    )


def _pairs(name: str, value: Any) -> Any:
    if not isinstance(value, tuple):
        raise ValueError(f"{name} is set by the contexts of make_user_context")
    return value


# --- The table ---------------------------------------------------------------------------


class Setting(NamedTuple):
    """One setting: what it may be and whether this library acts on it."""

    default: Any
    parse: Callable[[str, Any], Any]
    meaning: str
    acts: bool = True  # False: only the default is accepted
    compiles: bool = False  # True: part of every compilation key


_PRECISIONS: Final = (
    None,
    "default",
    "high",
    "highest",
    "bfloat16",
    "tensorfloat32",
    "float32",
)
# Names of `lax.DotAlgorithmPreset`.
_ALGORITHMS: Final = [
    "DEFAULT",
    "ANY_F8_ANY_F8_F32",
    "ANY_F8_ANY_F8_F32_FAST_ACCUM",
    "ANY_F8_ANY_F8_ANY",
    "ANY_F8_ANY_F8_ANY_FAST_ACCUM",
    "F16_F16_F16",
    "F16_F16_F32",
    "BF16_BF16_BF16",
    "BF16_BF16_F32",
    "BF16_BF16_F32_X3",
    "BF16_BF16_F32_X6",
    "BF16_BF16_F32_X9",
    "TF32_TF32_F32",
    "TF32_TF32_F32_X3",
    "F32_F32_F32",
    "F64_F64_F64",
]
_GUARDS: Final = (
    None,
    "allow",
    "log",
    "disallow",
    "log_explicit",
    "disallow_explicit",
)

SETTINGS: Final[dict[str, Setting]] = {
    "jax_enable_x64": Setting(
        False, _boolean, "Whether 64-bit types exist.", compiles=True
    ),
    "jax_explicit_x64_dtypes": Setting(
        "warn",
        _one_of("warn", "error", "allow"),
        "What happens where a 64-bit dtype is named while 64-bit types are off.",
    ),
    "jax_user_contexts": Setting(
        (),
        _pairs,
        "The values of the contexts that `make_user_context` made; set by these.",
        compiles=True,
    ),
    "jax_numpy_dtype_promotion": Setting(
        "standard",
        _one_of("standard", "strict"),
        "'strict': operands of different types are an error instead of converted.",
        compiles=True,
    ),
    "jax_numpy_rank_promotion": Setting(
        "allow",
        _one_of("allow", "warn", "raise"),
        "What happens when operands of different rank, none a scalar, are broadcast.",
        compiles=True,
    ),
    "jax_legacy_prng_key": Setting(
        "allow",
        _one_of("allow", "warn", "error"),
        "What happens when a random function is given a raw key.",
        compiles=True,
    ),
    "jax_enable_custom_prng": Setting(
        False, _boolean, "Whether PRNGKey makes typed keys.", compiles=True
    ),
    "jax_debug_key_reuse": Setting(
        False,
        _boolean,
        "Whether using a random key twice is an error, unless tetrad_key_check is 'off'.",
        compiles=True,
    ),
    "tetrad_key_check": Setting(
        "warn",
        _one_of("off", "warn", "strict", "error"),
        "What happens when a random key is used twice; 'strict' warns of equal seeds, too.",
        compiles=True,
    ),
    "tetrad_bounds": Setting(
        "warn",
        _bounds,
        "What happens at an index out of range: 'warn' looks at those that are known.",
        compiles=True,
    ),
    "tetrad_no_copies": Setting(
        False,
        _boolean,
        "Whether it is an error if an update copies the array that it updates.",
    ),
    "jax_softmax_custom_jvp": Setting(
        False,
        _boolean,
        "Whether softmax has a rule of its own, under which gradients keep its result only.",
        compiles=True,
    ),
    "jax_default_device": Setting(
        None, _device, "Where new arrays go: a device, a platform name or None."
    ),
    "tetrad_memory_limit": Setting(
        None,
        _bytes_or_none,
        "Bytes that a device may have in use, as in '2GB'; None: what it has.",
    ),
    "tetrad_code_limit": Setting(
        256 << 20,
        _bytes,
        "Bytes of machine code that stay loaded; what was used last stays.",
    ),
    "jax_platforms": Setting(
        None, _text, "Platforms to look for, best first, separated by commas."
    ),
    "jax_num_cpu_devices": Setting(
        -1, _integer, "How many CPU devices there are; -1: what XLA_FLAGS says, or 1."
    ),
    "jax_disable_jit": Setting(
        False,
        _boolean,
        "Whether functions under jit run operation by operation.",
        compiles=True,
    ),
    "jax_default_matmul_precision": Setting(
        None,
        _precision,
        "The least precision of matrix products; CPU products are always full. Or how"
        " their operands are rounded, by the name of a lax.DotAlgorithmPreset.",
        compiles=True,
    ),
    "jax_traceback_filtering": Setting(
        "auto",
        _one_of("auto", "off", "tracebackhide", "remove_frames", "quiet_remove_frames"),
        "'off': tracebacks keep the frames of this library.",
    ),
    "jax_enable_checks": Setting(False, _boolean, "Whether internal checks run."),
    "jax_check_tracer_leaks": Setting(
        False,
        _boolean,
        "Whether traced values that outlive their transformation are looked for.",
    ),
    "jax_debug_nans": Setting(
        False, _boolean, "Whether a NaN in a result is an error."
    ),
    "jax_debug_infs": Setting(
        False, _boolean, "Whether an infinity in a result is an error."
    ),
    "jax_no_tracing": Setting(
        False, _boolean, "Whether it is an error if a function under jit is traced."
    ),
    "jax_log_compiles": Setting(
        False, _boolean, "Whether traces and compilations are logged as warnings."
    ),
    "jax_explain_cache_misses": Setting(
        False, _boolean, "Whether it is logged why functions under jit are traced."
    ),
    # Nothing depends on these: what is here serves both values.
    "jax_pprint_use_color": Setting(
        True, _boolean, "Whether jaxprs may print in colour; they never do."
    ),
    "jax_check_static_indices": Setting(
        False, _boolean, "Whether integers out of range are errors, as in NumPy."
    ),
    "jax_remat3": Setting(
        False, _boolean, "Which of JAX's checkpoints is meant; there is one here."
    ),
    "jax_custom_vjp3": Setting(
        False, _boolean, "Which of JAX's custom_vjps is meant; there is one here."
    ),
    "jax_scan3": Setting(
        False, _boolean, "Which of JAX's scans is meant; there is one here."
    ),
    # Known, not acted upon.
    "jax_default_prng_impl": Setting(
        "threefry2x32",
        _one_of("threefry2x32", "rbg", "unsafe_rbg"),
        "The generator behind new random keys.",
    ),
    "jax_threefry_partitionable": Setting(
        True,
        _boolean,
        "Which of two numberings the bits of threefry2x32 follow.",
        compiles=True,
    ),
    "jax_transfer_guard": Setting(
        None,
        _one_of(*_GUARDS),
        "Which transfers are noticed: sets the three that follow.",
    ),
    "jax_transfer_guard_host_to_device": Setting(
        None, _one_of(*_GUARDS), "Guard of copies to a device."
    ),
    "jax_transfer_guard_device_to_host": Setting(
        None, _one_of(*_GUARDS), "Guard of reads by the host."
    ),
    "jax_transfer_guard_device_to_device": Setting(
        None, _one_of(*_GUARDS), "Guard of copies between devices."
    ),
    "jax_compilation_cache_dir": Setting(
        None, _text, "Where compiled programs are kept on disk.", acts=False
    ),
    "jax_enable_compilation_cache": Setting(
        True, _boolean, "Whether compiled programs are kept on disk.", acts=False
    ),
    "jax_platform_name": Setting(
        "", _text, "The older name of jax_platforms, which is asked first."
    ),
    "jax_random_seed_offset": Setting(
        0, _integer, "What is added to every seed.", compiles=True
    ),
    "jax_cpu_enable_async_dispatch": Setting(
        True, _boolean, "Whether CPU work runs while Python goes on.", acts=False
    ),
    "jax_use_shardy_partitioner": Setting(
        True, _boolean, "Which partitioner is used.", acts=False
    ),
    "jax_dynamic_shapes": Setting(
        False, _boolean, "Whether shapes may be traced.", acts=False
    ),
}
