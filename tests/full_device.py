"""Programs that ask for more memory than they may have, for the golden messages.

Run as a program, it prints what each is told. All else is as in a fresh process, so the
numbers are the same every time.
"""

import tetrad as jax
import tetrad.numpy as jnp

LIMIT = "40MB"


class Model:
    def __init__(self):
        self.params = {"w": jnp.ones((1000, 2500)), "b": jnp.zeros(2500)}

    def grow(self):
        wide = jnp.concatenate([self.params["w"]] * 3)
        return wide.block_until_ready()


def a_list_that_grows():
    history = []
    x = jnp.ones(1_000_000).block_until_ready()
    for step in range(100):
        history.append(x * step)


def an_update_of_a_shared_array():
    a = jnp.zeros(6_000_000).block_until_ready()
    b = a
    a = a.at[0].set(1.0)
    return a.block_until_ready(), b


def an_update_of_an_array_that_is_kept():
    a = jnp.zeros(6_000_000).block_until_ready()
    b = a.at[0].set(1.0)
    return b.block_until_ready(), a


def distances(point, points):
    return jnp.sort(jnp.abs(point - points))[:5]


def too_many_lanes():
    points = jnp.arange(5000.0)
    nearest = jax.vmap(distances, in_axes=(0, None))(points, points)
    return nearest.block_until_ready()


def too_many_lanes_in_jit():
    points = jnp.arange(5000.0).block_until_ready()
    nearest = jax.jit(jax.vmap(distances, in_axes=(0, None)))(points, points)
    return nearest.block_until_ready()


def too_much_from_each_lane():
    points = jnp.arange(5000.0)
    return jax.vmap(lambda p: jnp.abs(p - points))(points).block_until_ready()


def a_table_that_jit_keeps():
    def make():
        table = jnp.ones(6_000_000) * 2

        @jax.jit
        def look_up(i):
            return table[i]

        return look_up

    look_up = make()
    look_up(3).block_until_ready()
    return jnp.arange(6_000_000.0).block_until_ready()


def one_array_too_large():
    return jnp.ones((10_000, 10_000)).block_until_ready()


def attributes():
    model = Model()
    jax.block_until_ready(model.params)
    return model.grow()


def pending_work():
    parts = [jnp.full(2_000_000, i) for i in range(3)]
    ready = jnp.ones(2_000_000).block_until_ready()
    more = [part + ready for part in parts]
    return jax.block_until_ready(more)


PROGRAMS = (
    a_list_that_grows,
    an_update_of_a_shared_array,
    an_update_of_an_array_that_is_kept,
    too_many_lanes,
    too_many_lanes_in_jit,
    too_much_from_each_lane,
    a_table_that_jit_keeps,
    one_array_too_large,
    attributes,
    pending_work,
)

if __name__ == "__main__":
    jax.set_memory_limit(LIMIT)
    device = jax.devices()[0]
    for program in PROGRAMS:
        try:
            program()
            print(f"## {program.__name__}: nothing was raised")
        except jax.errors.OutOfMemoryError as error:
            print(f"## {program.__name__}: rule {error.report.rule!r}\n{error}\n")
        jax.clear_caches()
        in_use = device.memory_stats()["bytes_in_use"]
        if in_use:
            print(f"{in_use} bytes are still in use")
