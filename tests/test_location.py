"""Where arrays live: devices, transfers, several CPU devices, wrong places."""

import os
import subprocess
import sys

import numpy as np
import pytest

import tetrad as jax
import tetrad.numpy as jnp

EIGHT = """
import numpy as np, tetrad as jax, tetrad.numpy as jnp
tetrad = jax
{setup}
assert jax.device_count() == 8, jax.devices()
a, b = jax.devices()[1], jax.devices()[5]
x = jax.device_put(np.arange(4.0, dtype="f"), a)
assert x.device == a and x.devices() == {{a}} and x.committed
y = x * 2 + 1
assert y.device == a
y.block_until_ready()
assert a.memory_stats()["bytes_in_use"] == 32
assert b.memory_stats()["bytes_in_use"] == 0
z = jax.device_put(y, b)
assert z.device == b and y.device == a
np.testing.assert_array_equal(z, [1, 3, 5, 7])
try:
    z + y
except ValueError as e:
    assert "cpu:1" in str(e) and "cpu:5" in str(e), e
else:
    raise SystemExit("mixing committed arrays must fail")
w = jnp.ones(4)
assert w.device == jax.devices()[0] and not w.committed
assert (w + z).device == b
assert jax.jit(lambda p, q: p + q)(w, z).device == b
with jax.default_device(a):
    assert jnp.zeros(3).device == a
np.testing.assert_array_equal(jax.device_put(z + 1, jax.devices()[0]) + w, [3, 5, 7, 9])
print("fine")
"""


def run(code, **env):
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=100,
        env={**os.environ, **env},
    )
    assert done.stdout.strip() == "fine", done.stderr


def test_eight_devices_by_call():
    run(EIGHT.format(setup="tetrad.set_cpu_devices(8)"))


def test_eight_devices_by_setting():
    run(EIGHT.format(setup=""), JAX_NUM_CPU_DEVICES="8")
    run(EIGHT.format(setup=""), XLA_FLAGS="--xla_force_host_platform_device_count=8")


def test_the_number_of_devices_is_fixed_by_their_first_use():
    jnp.ones(3).block_until_ready()
    with pytest.raises(RuntimeError):
        jax.set_cpu_devices(jax.device_count() + 1)


def test_devices():
    assert jax.default_backend() == "cpu"
    device = jax.devices("cpu")[0]
    assert device.platform == "cpu" and device.id == 0
    assert repr(device) == "CpuDevice(id=0)"
    assert jax.local_devices() == jax.devices()
    assert jax.device_count() == len(jax.devices())
    x = jnp.ones(3)
    assert x.device == device and x.devices() == {device}
    assert x.sharding.device_set == {device}


def test_a_missing_platform_says_what_there_is():
    with pytest.raises(RuntimeError) as e:
        jax.devices("gpu")
    message = str(e.value)
    assert "cpu" in message and "pip install" in message
    with pytest.raises(RuntimeError, match="cpu"):
        jax.devices("abacus")


def test_device_put_and_get_of_trees():
    tree = {"a": np.ones(3, "f"), "b": [2.0, jnp.zeros(2)]}
    moved = jax.device_put(tree, jax.devices()[0])
    assert all(type(x) is jax.Array for x in jax.tree.leaves(moved))
    host = jax.device_get(moved)
    assert all(type(x) is np.ndarray for x in jax.tree.leaves(host))
    assert jax.block_until_ready(moved) is moved
    some = jax.device_put(tree, {"a": jax.devices()[0], "b": None})
    assert [x.committed for x in jax.tree.leaves(some)] == [True, False, False]
    with pytest.raises(ValueError, match="device does not fit x"):
        jax.device_put(tree, {"c": None})


def test_copies_to_the_host_start_for_whatever_has_them():
    class Other:
        started = 0

        def copy_to_host_async(self):
            self.started += 1

    tree = [object(), 1, Other(), jnp.ones(2)]
    assert jax.copy_to_host_async(tree) is tree
    assert tree[2].started == 1


def test_device_put_to_the_same_device_survives_deletion_of_the_source():
    x = jnp.arange(3.0)
    y = jax.device_put(x, x.device)
    x.delete()
    np.testing.assert_array_equal(y, [0, 1, 2])


def test_run_unmodified_programs(tmp_path):
    script = tmp_path / "program.py"
    script.write_text(
        "import sys\nimport jax\nimport jax.numpy as jnp\nfrom jax import lax, random\n"
        "import jax.random as jr, jax.nn, jax.tree_util as jtu\n"
        "assert jax.__version__ == '0.10.2' and jr is random\n"
        "assert type(jnp.ones(2)) is jax.Array\n"
        "print(sys.argv[1:], float(jax.grad(lambda x: lax.sin(x) * x)(0.0)), __name__)\n"
    )
    env = {**os.environ}
    base = [sys.executable, "-m", "tetrad"]
    done = subprocess.run(
        [*base, str(script), "a", "b"], capture_output=True, text=True, env=env
    )
    assert done.stdout.strip() == "['a', 'b'] 0.0 __main__", done.stderr
    done = subprocess.run(
        [*base, "-m", "program", "c"],
        capture_output=True,
        text=True,
        env=env,
        cwd=tmp_path,
    )
    assert done.stdout.strip() == "['c'] 0.0 __main__", done.stderr
    done = subprocess.run(
        [*base, "-c", "import jax, sys; print(jax.numpy.arange(3), sys.argv)", "d"],
        capture_output=True,
        text=True,
        env=env,
    )
    assert done.stdout.strip() == "[0 1 2] ['-c', 'd']", done.stderr


def test_install_as_jax():
    run(
        "import tetrad; tetrad.install_as_jax(); import jax; assert jax is tetrad;"
        "import jax.numpy; assert jax.numpy is tetrad.numpy;"
        "assert tetrad.__spec__.name == 'tetrad'; print('fine')"
    )


def test_private_names_of_jax_are_modules_of_their_own():
    run(
        "import tetrad; tetrad.install_as_jax(); import jax, jax._src.dtypes;"
        "assert not jax._src.xla_bridge.backends_are_initialized();"
        "jax.devices(); assert list(jax._src.xla_bridge._backends) == ['cpu'];"
        "assert not hasattr(jax._src, 'no_such_thing'); print('fine')"
    )


def test_private_names_that_tutorials_import():
    run(
        "import tetrad; tetrad.install_as_jax(); import jax;"
        "from jax._src import api, config, tree_util, test_util, public_test_util;"
        "from jax._src.lax import lax; from jax._src import util;"
        "assert api.grad is jax.grad and lax.add is jax.lax.add;"
        "assert test_util.check_grads is jax.test_util.check_grads;"
        "assert util.safe_map(abs, [-1]) == [1];"
        "assert util.safe_zip([1], [2]) == [(1, 2)];"
        "assert util.unzip2([(1, 2), (3, 4)]) == ((1, 3), (2, 4));"
        "assert util.unzip3([]) == ((), (), ());"
        "assert util.split_list([1, 2, 3], [1]) == [[1], [2, 3]];"
        "assert util.partition_list([True, False], [1, 2]) == ([2], [1]);"
        "assert util.concatenate([[1], [2]]) == [1, 2];"
        "assert util.curry(max)(1)(2) == 2; print('fine')"
    )
