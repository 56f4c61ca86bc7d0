"""Copies between host and devices: what `see.transfers` lists and guards forbid."""

import json
import logging
import pickle
import re
import threading

import numpy as np
import pytest
from plugin import PLATFORM, needs_plugin, on_plugin
from several import cpu_devices

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.runtime import events
from tetrad.errors import TransferGuardError

HOST = np.arange(1000, dtype="f")
UP, DOWN = "host → cpu:0", "cpu:0 → host"


@pytest.fixture(scope="module")
def cpus():
    with cpu_devices(2) as found:
        yield found


@pytest.fixture
def x():
    return jnp.arange(1000.0).block_until_ready()


def only(t):
    """The direction, bytes and reason of the one entry."""
    (entry,) = t
    assert re.fullmatch(r".*test_transfers\.py:\d+", entry.where)
    return entry.direction, entry.nbytes, entry.reason


def check_while(x):
    while x[0] > 0:
        pass


def check_if_statement(x):
    if x[0] > 0:
        return 1
    return 2


def check_assert(x):
    assert x[0] == 0


READS = {
    "float()": lambda x: float(x[0]),
    "int()": lambda x: int(x[0]),
    "complex()": lambda x: complex(x[0]),
    "bool()": lambda x: bool(x[0]),
    "a condition": lambda x: not x[0],
    "if": check_if_statement,
    "while": check_while,
    "assert": check_assert,
    "print": lambda x: print(x),
    "str()": lambda x: str(x),
    "repr()": lambda x: repr(x),
    "f-string": lambda x: f"{x[0]:.3f}",
    "np.asarray": lambda x: np.asarray(x),
    "np.sort": lambda x: np.sort(x),
    ".item()": lambda x: x[1].item(),
    ".tolist()": lambda x: x.tolist(),
    ".tobytes()": lambda x: x.tobytes(),
    "device_get": lambda x: jax.device_get([x]),
    "DLPack": lambda x: np.from_dlpack(x),
    "pickle": lambda x: pickle.dumps(x),
    "use as an index": lambda x: range(3)[x[1].astype(int)],
}


@pytest.mark.parametrize("reason", READS)
def test_reads_are_listed_with_their_reason(x, reason):
    with jax.see.transfers() as t:
        READS[reason](x)
    assert only(t) == (DOWN, 0, reason)
    assert (t.count, t.total, len(t)) == (1, 0, 1)
    assert len(t.waits) == 1 and not t.copies


UPLOADS = {
    "jnp.array": lambda x: jnp.array(HOST),
    "jnp.asarray": lambda x: jnp.asarray(HOST),
    "device_put": lambda x: jax.device_put(HOST),
    "an operand of x + HOST": lambda x: x + HOST,
    "an operand of HOST * x": lambda x: HOST * x,
    "an operand of jnp.maximum(x, HOST)": lambda x: jnp.maximum(x, HOST),
    "an operand of jnp.sum(HOST)": lambda x: jnp.sum(HOST),
    "an operand of jnp.where(x > 0, HOST, x)": lambda x: jnp.where(x > 0, HOST, x),
    "an operand of DOUBLE(HOST)": lambda x: DOUBLE(HOST),
    "constant of a traced function": lambda x: jax.jit(lambda v: v + HOST)(x),
}
DOUBLE = jax.jit(lambda v: 2 * v)


@pytest.mark.parametrize("reason", UPLOADS)
def test_copies_to_the_device_are_listed_once(x, reason):
    with jax.see.transfers() as t:
        UPLOADS[reason](x)
    assert only(t) == (UP, 4000, reason)
    assert t.total == 4000 and t.copies and not t.waits


NOTHING = {
    "arithmetic with numbers": lambda x: 2 * x + 1.5,
    "NumPy scalars": lambda x: x * np.float32(2),
    "elements": lambda x: (x[0], x[-1], x[1:4]),
    "index arrays": lambda x: x[jnp.arange(3)],
    "updates": lambda x: x.at[3].set(2.0),
    "creation": lambda x: (jnp.zeros(3), jnp.arange(4), jnp.full(3, 1.0), jnp.eye(2)),
    "keys": lambda x: jax.random.normal(jax.random.key(0), (3,)),
    "jit of numbers": lambda x: DOUBLE(3.0),
    "grad": lambda x: jax.grad(lambda v: (v**2).sum())(x),
    "types": lambda x: (x.shape, x.dtype, len(x), x.nbytes, x.device, x.sharding),
    "device_put of what is there": lambda x: jax.device_put(x),
    "deepcopy": lambda x: __import__("copy").deepcopy(x),
}


@pytest.mark.parametrize("name", NOTHING)
def test_numbers_and_work_on_the_device_are_no_transfers(x, name):
    with jax.see.transfers() as t, jax.transfer_guard("disallow_explicit"):
        NOTHING[name](x)
    assert t.count == 0, str(t)
    assert str(t) == "nothing was copied, and nobody waited"


def test_between_devices(cpus, x):
    with jax.see.transfers() as t:
        c = jax.device_put(x, cpus[1])
        c + x
    assert [e[:2] + e[3:4] for e in t] == [
        ("cpu:0 → cpu:1", 4000, "device_put"),
        ("cpu:0 → cpu:1", 4000, "an operand of c + x"),
    ]
    with jax.see.transfers() as t:
        c + HOST
        jnp.array(HOST, device=cpus[1])
    assert {e.direction for e in t.copies} <= {"host → cpu:1", UP}
    assert t.total == 8000


@needs_plugin
def test_other_platforms_copy_what_is_read():
    x = jax.device_put(HOST, jax.devices(PLATFORM)[0])
    with jax.see.transfers() as t:
        np.asarray(x)
    assert only(t) == (f"{PLATFORM}:0 → host", 4000, "np.asarray")
    with jax.see.transfers() as t:
        jax.device_put(x, jax.devices("cpu")[0])
    assert only(t) == (f"{PLATFORM}:0 → cpu:0", 4000, "device_put")
    with on_plugin(), jax.see.transfers() as t:
        jnp.sum(HOST)
    assert only(t) == (f"host → {PLATFORM}:0", 4000, "an operand of jnp.sum(HOST)")


def test_waits_are_timed():
    x = jnp.ones((700, 700))
    with jax.see.transfers() as t:
        (x @ x @ x).block_until_ready()
        total = float((x @ x @ x).sum())
    assert total == pytest.approx(700.0**4)
    first, second = t
    assert (first.direction, first.reason) == ("", "block_until_ready")
    assert (second.direction, second.reason) == (DOWN, "float()")
    assert first.seconds > 0 and second.seconds > 0
    assert t.seconds == pytest.approx(first.seconds + second.seconds)


def test_the_table_sums_by_line(x):
    with jax.see.transfers() as t:
        for _ in range(30):
            x = x + HOST
        print(x[:2])
    first, second = t.by_line
    assert first.times == 30 and first.nbytes == 120_000
    assert first.reason == "an operand of x + HOST" and first.direction == UP
    assert second.reason == "print"
    text = str(t)
    assert "30 copies of 117.2 KiB, 1 wait without a copy" in text
    assert "117.2 KiB" in text and "30 ×" in text and "test_transfers.py:" in text


def test_reports_are_saved(x, tmp_path):
    with jax.see.transfers() as t:
        jnp.sum(HOST)
    assert "<td>host → cpu:0</td>" in t._repr_html_()
    for name in ("t.html", "t.json", "t.txt"):
        t.save(tmp_path / name)
    data = json.loads((tmp_path / "t.json").read_text())
    assert data["total"] == 4000 and data["entries"][0]["direction"] == UP
    assert "3.9 KiB" in (tmp_path / "t.txt").read_text()
    with pytest.raises(ValueError, match="html, .json or .txt"):
        t.save(tmp_path / "t.pdf")


def test_nobody_listens_after_the_block(x):
    with jax.see.transfers() as t:
        pass
    float(x[0])
    assert not events.transfers.listeners and not events.guards.listeners
    assert t.count == 0


def test_other_threads_are_listed_too(x):
    with jax.see.transfers() as t:
        threads = [threading.Thread(target=lambda: float(x[1])) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert t.count == 4


# --------------------------------------------------------------------------------- guards


LEVELS = ("allow", "log", "log_explicit", "disallow", "disallow_explicit")


@pytest.mark.parametrize("reason", [*READS, *UPLOADS])
def test_the_guard_knows_what_is_explicit(x, reason):
    act = {**READS, **UPLOADS}[reason]
    explicit = reason in ("device_put", "device_get")
    constant = reason == "constant of a traced function"
    for level in LEVELS:
        forbidden = level == "disallow_explicit" or (
            level == "disallow" and not explicit
        )
        with jax.transfer_guard(level):
            if forbidden and not constant:
                with pytest.raises(TransferGuardError) as caught:
                    act(x)
                words = str(caught.value)
                assert reason in words
                assert any(dtype in words for dtype in ("float32", "bool[]", "int32["))
            else:
                act(x)
    act(x)


def test_messages_name_line_bytes_reason_and_remedy(cpus, x):
    with jax.transfer_guard("disallow"):
        with pytest.raises(jax.errors.JaxRuntimeError) as caught:
            x + HOST
        up = str(caught.value)
        with pytest.raises(TransferGuardError) as caught:
            float(x[0])
        down = str(caught.value)
        c = jax.device_put(x, cpus[1])
        with pytest.raises(TransferGuardError) as caught:
            c + x
        across = str(caught.value)
    for message in (up, down, across):
        assert "test_transfers.py:" in message
        assert "jax.transfer_guard('disallow') forbids" in message
    assert "float32[1000] (3.9 KiB) from the host to cpu:0" in up
    assert "for an operand of x + HOST" in up and "jax.device_put(x)" in up
    assert "float32[] (4 B) from cpu:0 to the host, for float()" in down
    assert "jax.device_get(x)" in down
    assert "from cpu:0 to cpu:1" in across and "CpuDevice(id=1)" in across


def test_each_direction_has_its_guard(cpus, x):
    c = jax.device_put(x, cpus[1])
    acts = {
        "host_to_device": lambda: x + HOST,
        "device_to_host": lambda: float(x[0]),
        "device_to_device": lambda: c + x,
    }
    for name in acts:
        guard = getattr(jax, f"transfer_guard_{name}")
        for other, act in acts.items():
            with guard("disallow"):
                if other == name:
                    with pytest.raises(TransferGuardError):
                        act()
                else:
                    act()
        with jax.transfer_guard("disallow"), guard("allow"):
            acts[name]()
        with guard("disallow"), jax.transfer_guard("allow"):
            acts[name]()
    assert not events.guards.listeners


def test_guards_belong_to_a_thread_or_to_all(x):
    seen = []

    def act():
        try:
            float(x[1])
            seen.append("fine")
        except TransferGuardError:
            seen.append("forbidden")

    def elsewhere():
        thread = threading.Thread(target=act)
        thread.start()
        thread.join()

    with jax.transfer_guard("disallow"):
        elsewhere()
    try:
        jax.config.update("jax_transfer_guard", "disallow")
        assert jax.config.jax_transfer_guard_device_to_host == "disallow"
        elsewhere()
        jax.config.update("jax_transfer_guard_device_to_host", "allow")
        elsewhere()
    finally:
        jax.config.update("jax_transfer_guard", None)
    elsewhere()
    assert seen == ["fine", "forbidden", "fine", "fine"]
    assert not events.guards.listeners


def test_log_levels_write_a_line(x, caplog):
    with caplog.at_level(logging.WARNING, "tetrad"):
        with jax.transfer_guard("log"):
            x + HOST
            jax.device_put(HOST)
        assert len(caplog.records) == 1
        with jax.transfer_guard("log_explicit"):
            jax.device_put(HOST)
        assert len(caplog.records) == 2
    first, second = [r.getMessage() for r in caplog.records]
    assert "float32[1000] (3.9 KiB) from the host to cpu:0" in first
    assert "device_put" in second and "test_transfers.py:" in second


def test_levels_are_checked():
    with pytest.raises(ValueError, match="must be one of"):
        jax.transfer_guard("forbid")
    with pytest.raises(TypeError, match="missing"):
        jax.transfer_guard()


def test_a_forbidden_read_loses_nothing(x):
    y = x * 2
    with jax.transfer_guard("disallow"), pytest.raises(TransferGuardError):
        np.asarray(y)
    np.testing.assert_array_equal(y, 2 * HOST)


def test_callbacks_are_not_guarded(x):
    def f(v):
        out = jax.ShapeDtypeStruct(v.shape, v.dtype)
        return jax.pure_callback(lambda a: HOST * 2, out, v)

    with jax.transfer_guard("disallow"):
        made = jax.jit(f)(x), f(x)
    np.testing.assert_array_equal(made[0], 2 * HOST)
    np.testing.assert_array_equal(made[1], 2 * HOST)
