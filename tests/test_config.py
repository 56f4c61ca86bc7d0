"""Settings: values, environment, threads, blocks, keys; and the caches of `memo`."""

from __future__ import annotations

import gc
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any

import pytest

from tetrad._src.util import config as settings
from tetrad._src.util import memo
from tetrad._src.util.config import config, enable_x64
from tetrad._src.util.memo import Cache, LruCache, memo_on_first, weak_memo
from tetrad._src.util.settings import SETTINGS


@pytest.fixture(autouse=True)
def settings_as_before() -> Iterator[None]:
    before = config.values
    yield
    for name, value in before.items():
        config.update(name, value)


# --- Reading and writing -----------------------------------------------------------------


def test_defaults() -> None:
    assert config.jax_enable_x64 is config.x64 is config.x64_enabled is False
    assert config.read("jax_numpy_dtype_promotion") == "standard"
    assert set(config.values) == set(SETTINGS)
    assert config.jax_num_cpu_devices == -1


def test_update_parses_and_checks() -> None:
    config.update("jax_enable_x64", "yes")
    assert config.x64 is config.jax_enable_x64 is True
    config.update("jax_enable_x64", 0)
    assert config.x64 is config.jax_enable_x64 is False
    with pytest.raises(ValueError, match="must be True or False, got 'maybe'"):
        config.update("jax_enable_x64", "maybe")
    with pytest.raises(ValueError, match="one of 'standard', 'strict'; got 'loose'"):
        config.update("jax_numpy_dtype_promotion", "loose")
    with pytest.raises(ValueError, match="must be an integer"):
        config.update("jax_num_cpu_devices", "many")


def test_unknown_settings() -> None:
    with pytest.raises(AttributeError, match="no setting named 'jax_enable_x65'"):
        config.update("jax_enable_x65", True)
    with pytest.raises(AttributeError, match="did you mean jax_platforms"):
        config.update("platforms", "cpu")
    with pytest.raises(AttributeError, match="nothing"):
        config.nothing
    with pytest.raises(
        AttributeError, match=r"config\.update\('jax_enable_x64', True\)"
    ):
        config.jax_enable_x64 = True


def test_settings_without_effect_are_refused() -> None:
    assert any(not entry.acts for entry in SETTINGS.values())
    for name, entry in SETTINGS.items():
        config.update(name, entry.default)
        if entry.acts or not isinstance(entry.default, bool):
            continue
        with pytest.raises(NotImplementedError, match=f"{name} can only be"):
            config.update(name, not entry.default)


def test_locked_settings() -> None:
    config.lock("jax_platforms", "the platforms are in use")
    try:
        config.update("jax_platforms", None)
        with pytest.raises(RuntimeError, match="can no longer change: the platforms"):
            config.update("jax_platforms", "cpu")
    finally:
        config.unlock("jax_platforms")


# --- Blocks and threads ------------------------------------------------------------------


def test_blocks_nest_and_restore() -> None:
    with enable_x64():
        assert config.x64
        with enable_x64(False), settings.numpy_dtype_promotion("strict"):
            assert not config.x64
            assert config.jax_numpy_dtype_promotion == "strict"
        assert config.x64
        assert config.jax_numpy_dtype_promotion == "standard"
    assert not config.x64


def test_blocks_restore_after_exceptions() -> None:
    with pytest.raises(KeyError), enable_x64():
        raise KeyError
    assert not config.x64


def test_blocks_belong_to_a_thread() -> None:
    seen: list[bool] = []
    with enable_x64():
        thread = threading.Thread(target=lambda: seen.append(config.x64))
        thread.start()
        thread.join()
        assert config.x64
    assert seen == [False]


def test_updates_reach_other_threads_but_not_their_blocks() -> None:
    in_block, updated = threading.Event(), threading.Event()
    seen: list[Any] = []

    def work() -> None:
        with settings.numpy_dtype_promotion("strict"):
            in_block.set()
            updated.wait()
            seen.append((config.x64, config.jax_numpy_dtype_promotion))
        seen.append((config.x64, config.jax_numpy_dtype_promotion))

    thread = threading.Thread(target=work)
    thread.start()
    in_block.wait()
    config.update("jax_enable_x64", True)
    updated.set()
    thread.join()
    assert seen == [(False, "strict"), (True, "standard")]


def test_update_inside_a_block() -> None:
    with enable_x64(True):
        config.update("jax_enable_x64", False)
        config.update("jax_numpy_dtype_promotion", "strict")
        assert config.x64  # the block wins until it ends
        assert config.jax_numpy_dtype_promotion == "strict"
    assert not config.x64
    assert config.jax_numpy_dtype_promotion == "strict"


def test_update_inside_nested_blocks() -> None:
    with enable_x64(False), settings.disable_jit(), enable_x64(False):
        config.update("jax_enable_x64", True)
        assert not config.x64
    assert config.x64


def test_blocks_decorate_functions() -> None:
    @enable_x64()
    def inside() -> bool:
        return config.x64

    assert inside()
    assert inside()
    assert not config.x64


def test_context_managers_need_a_value_or_have_one() -> None:
    with settings.disable_jit():
        assert config.jax_disable_jit
    assert settings.disable_jit.value is False
    with pytest.raises(TypeError, match="a value for jax_default_device is missing"):
        settings.default_device()
    with settings.default_matmul_precision("highest"):
        assert config.jax_default_matmul_precision == "highest"
    with settings.transfer_guard("disallow"):
        assert config.jax_transfer_guard_device_to_host == "disallow"
    assert config.jax_transfer_guard_device_to_host is None


def test_state_key_follows_what_programs_depend_on() -> None:
    plain = config.state_key()
    assert hash(plain) == hash(config.state_key())
    with enable_x64():
        inside = config.state_key()
        assert inside != plain
        with settings.default_device("cpu"):
            assert config.state_key() == inside
    assert config.state_key() == plain
    config.update("jax_enable_x64", True)
    assert config.state_key() == inside
    with settings.numpy_dtype_promotion("strict"):
        assert config.state_key() not in (plain, inside)


# --- The environment ---------------------------------------------------------------------


def run(program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    import tetrad._src.util.config as module

    # The module alone, so that no other part of the library is loaded.
    prelude = (
        "import importlib.util, sys\n"
        f"spec = importlib.util.spec_from_file_location('config', {module.__file__!r})\n"
        "module = importlib.util.module_from_spec(spec)\n"
        "sys.modules['config'] = module\n"
        "spec.loader.exec_module(module)\n"
        "config = module.config\n"
    )
    return subprocess.run(
        [sys.executable, "-c", prelude + program],
        capture_output=True,
        text=True,
        env={**os.environ, **environment},
        check=False,
    )


def test_environment() -> None:
    program = "print(config.x64, config.jax_platforms, module.cpu_device_count())"
    assert run(program).stdout.split() == ["False", "None", "1"]
    given = run(
        program, JAX_ENABLE_X64="1", JAX_PLATFORMS="cpu", JAX_NUM_CPU_DEVICES="3"
    )
    assert given.stdout.split() == ["True", "cpu", "3"]
    flags = "--other=1 --xla_force_host_platform_device_count=8"
    assert run(program, XLA_FLAGS=flags).stdout.split()[-1] == "8"
    both = run(program, XLA_FLAGS=flags, JAX_NUM_CPU_DEVICES="2")
    assert both.stdout.split()[-1] == "2"


def test_bad_environment() -> None:
    bad = run("", JAX_ENABLE_X64="perhaps")
    assert "the environment variable JAX_ENABLE_X64='perhaps'" in bad.stderr
    unacted = run("", JAX_DYNAMIC_SHAPES="1")
    assert "NotImplementedError" in unacted.stderr
    assert "JAX_DYNAMIC_SHAPES" in unacted.stderr


# --- Caches ------------------------------------------------------------------------------


def test_cache_is_a_bounded_dictionary() -> None:
    cache = Cache("test", limit=8)
    for i in range(100):
        cache[i] = i
        assert len(cache) <= 8
    assert cache[99] == 99
    assert cache.get(0) is None
    assert cache.setdefault(99, "other") == 99
    assert cache.setdefault(100, "new") == "new"
    with pytest.raises(ValueError, match="at least 1"):
        Cache("test", limit=0)


def test_reading_a_present_key_drops_nothing() -> None:
    cache = Cache("test", limit=4)
    for i in range(4):
        cache[i] = i
    for i in range(4):
        assert cache.setdefault(i) == i
        cache[i] = -i
    assert len(cache) == 4


def test_lru_cache_drops_what_was_used_longest_ago() -> None:
    dropped: list[Any] = []
    cache = LruCache("test", limit=10, on_drop=dropped.append)
    cache.put("a", 1, cost=4)
    cache.put("b", 2, cost=4)
    assert cache.get("a") == 1
    cache.put("c", 3, cost=4)
    assert dropped == [2]
    assert "a" in cache
    assert "b" not in cache
    assert cache.cost == 8
    cache.put("a", 10, cost=1)
    assert (cache.get("a"), cache.cost) == (10, 5)
    cache.put("huge", 4, cost=100)
    assert list(dropped) == [2, 1, 3, 10]
    assert cache.get("huge") == 4
    assert cache.get("none", "default") == "default"
    cache.clear()
    assert (len(cache), cache.cost) == (0, 0)


def test_memo_tells_types_apart() -> None:
    calls: list[Any] = []

    @memo.memo(limit=4)
    def double(x: Any) -> Any:
        calls.append(x)
        return 2 * x

    assert [double(1), double(1), double(1.0), double(True)] == [2, 2, 2.0, 2]
    assert len(calls) == 3
    memo.clear_caches()
    double(1)
    assert len(calls) == 4


class Owner:
    def __init__(self) -> None:
        self.memo: dict[Any, Any] = {}


def test_memo_on_first_lives_on_its_argument() -> None:
    calls: list[Any] = []

    @memo_on_first
    def derived(owner: Owner, *rest: Any, flag: bool = False) -> Any:
        calls.append((rest, flag))

    one, two = Owner(), Owner()
    for owner in (one, one, two):
        derived(owner)
        derived(owner, 1)
        derived(owner, 1, flag=True)
    assert len(calls) == 6  # results that are None count as well
    one.memo.clear()
    derived(one)
    assert len(calls) == 7


def test_weak_memo_forgets_the_dead() -> None:
    calls: list[int] = []

    @weak_memo
    def describe(owner: Owner, n: int = 0) -> int:
        calls.append(n)
        return n

    owner = Owner()
    assert [describe(owner, 1), describe(owner, 1), describe(owner, 2)] == [1, 1, 2]
    assert calls == [1, 2]
    name = next(name for name in memo.cache_sizes() if name.endswith("describe"))
    assert memo.cache_sizes()[name] == 1
    del owner
    gc.collect()
    assert memo.cache_sizes()[name] == 0


def test_clear_caches_empties_everything() -> None:
    cache, lru = Cache("one cache"), LruCache("another cache")
    cache["a"] = 1
    lru.put("b", 2)
    assert memo.cache_sizes()["one cache"] == 1
    assert memo.clear_caches() >= 2
    assert not cache
    assert not len(lru)


def test_caches_take_writes_from_many_threads() -> None:
    cache, lru = Cache("test", limit=16), LruCache("test", limit=16)
    failures: list[BaseException] = []

    def work(start: int) -> None:
        try:
            for i in range(start, start + 2000):
                cache[i % 50] = i
                cache.setdefault(i % 70, i)
                lru.put(i % 50, i)
                lru.get(i % 60)
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
