"""The strictest mode: warnings are errors, programs are checked, nothing leaks."""

import gc
import importlib.util
import os

import pytest

os.environ.setdefault("TETRAD_CHECK", "1")

HAVE_JAX = importlib.util.find_spec("jax") is not None
HAVE_PLUGIN = importlib.util.find_spec("xla_cpu_pjrt") is not None


def pytest_collection_modifyitems(items):
    for item in items:
        if "oracle" in item.keywords and not HAVE_JAX:
            item.add_marker(
                pytest.mark.skip(reason="JAX is not installed (extra: conformance)")
            )


@pytest.fixture(autouse=True)
def repeated_keys(request):
    """Tests of the samplers themselves may draw from one key again and again."""
    import tetrad as jax

    if "random" not in request.module.__name__:
        yield
        return
    with jax.key_check("off"):
        yield


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
