"""The strictest mode: warnings are errors, programs are checked, nothing leaks."""

import contextlib
import gc
import importlib.util
import os
import zlib

import numpy as np
import pytest

os.environ.setdefault("TETRAD_CHECK", "1")

HAVE_JAX = importlib.util.find_spec("jax") is not None


def pytest_collection_modifyitems(items):
    for item in items:
        if "oracle" in item.keywords and not HAVE_JAX:
            item.add_marker(
                pytest.mark.skip(reason="JAX is not installed (extra: conformance)")
            )


@pytest.fixture(autouse=True)
def own_random_numbers(request):
    """The numbers of a test depend on its name, not on which tests ran before it."""
    for name in ("rng", "RNG"):
        if isinstance(getattr(request.module, name, None), np.random.Generator):
            seed = zlib.crc32(request.node.name.encode())
            setattr(request.module, name, np.random.default_rng(seed))


@pytest.fixture(autouse=True)
def repeated_keys(request):
    """Tests of the samplers may draw from one key again and again; examples may not."""
    import tetrad as jax

    name = request.module.__name__
    mode = "error" if "examples" in name else "warn"
    if "random" in name or name in ("test_programs", "test_hlo_rules"):
        mode = "off"
    if mode == "warn":
        yield
        return
    with jax.key_check(mode):
        yield


@pytest.fixture(autouse=True)
def indices_out_of_range(request):
    """Programs that nobody wrote index out of range on purpose."""
    import tetrad as jax

    name = request.module.__name__
    wild = "programs" in name or name in (
        "test_found",
        "test_fuse",
        "test_interleaved",
        "test_points",
    )
    with jax.bounds("off") if wild else contextlib.nullcontext():
        yield


@pytest.fixture(scope="module")
def no_collection():
    """Arrays in cycles that other tests left are freed before, not within the tests."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture(scope="module")
def few_objects():
    """Collections see what the tests of the module make, not the thousands of others."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture
def ledger_balance():
    """Fails the test if it leaves arrays behind on the first CPU device."""
    import tetrad as jax

    device = jax.devices("cpu")[0]
    gc.collect()
    before = device.memory_stats()["bytes_in_use"]
    yield device
    gc.collect()
    after = device.memory_stats()["bytes_in_use"]
    assert after == before, f"{after - before} bytes were left on {device}"
