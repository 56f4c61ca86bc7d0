"""Mistakes about devices, and copies that were forbidden."""

from __future__ import annotations

from mistakes.mistake import Mistake, mistake
from tetrad import errors

MISTAKES: list[Mistake] = [
    mistake(
        "NumPy data in a loop that must not copy",
        """
data = np.ones((10, 3), "float32")
w = jnp.zeros(3)

with jax.transfer_guard("disallow"):
    for i in range(3):
        w = w - data.mean(0)
""",
        errors.TransferGuardError,
        "float32[3] (12 B) from the host to cpu:0",
        "w - data.mean(0)",
        "jax.device_put(x)",
    ),
    mistake(
        "a loss that is printed where nothing may be read",
        """
loss = jnp.ones(3).sum()
with jax.transfer_guard("disallow"):
    print(loss)
""",
        errors.TransferGuardError,
        "for print",
        "jax.device_get(x)",
    ),
    mistake(
        "a condition where nothing may be read",
        """
x = jnp.ones(3)
with jax.transfer_guard_device_to_host("disallow"):
    if x[0] > 0:
        x = -x
""",
        errors.TransferGuardError,
        "bool[] (1 B) from cpu:0 to the host, for if",
    ),
    mistake(
        "a level that does not exist",
        """
jax.transfer_guard("forbid")
""",
        ValueError,
        "'disallow'",
    ),
    mistake(
        "the name of a platform in place of a device",
        """
jax.device_put(jnp.ones(3), "cpu")
""",
        ValueError,
        "jax.devices()[0]",
    ),
    mistake(
        "the number of a device in place of a device",
        """
jnp.zeros(3, device=0)
""",
        ValueError,
        "got 0 of type int",
    ),
    mistake(
        "a default device that is a number",
        """
with jax.default_device(0):
    jnp.zeros(3)
""",
        ValueError,
        "jax.devices('cpu')[0]",
    ),
    mistake(
        "text that should go to a device",
        """
jax.device_put({"name": "weights"}, jax.devices()[0])
""",
        TypeError,
        "arrays hold numbers",
    ),
    mistake(
        "devices for another tree",
        """
params = {"w": jnp.ones(2), "b": jnp.ones(2)}
jax.device_put(params, {"w": jax.devices()[0]})
""",
        ValueError,
        "device does not fit x",
    ),
    mistake(
        "memory that is given up and shared",
        """
jax.device_put(jnp.ones(3), jax.devices()[0], donate=True, may_alias=True)
""",
        ValueError,
        "cannot be True at the same time",
    ),
    mistake(
        "an array that was given to another device",
        """
x = jnp.ones(3)
y = jax.device_put(x, jax.devices()[0], donate=True)
x + y
""",
        errors.DeletedArrayError,
        "donated to jax.device_put",
    ),
    mistake(
        "a GPU by name of an array",
        """
import tetrad

tetrad.require(jax.devices()[0])
""",
        TypeError,
        "name of a platform",
    ),
]
