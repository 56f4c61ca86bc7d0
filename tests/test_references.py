"""State inside of programs: names that exist for libraries, and say what to write."""

import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad.experimental import cur_qdd, hijax


def test_nothing_is_a_reference():
    for x in (1.0, jnp.ones(2), jax.typeof(jnp.ones(2))):
        assert not isinstance(x, jax.Ref | hijax.AbstractRef)


@pytest.mark.parametrize(
    "make",
    [
        lambda: jax.new_ref(jnp.zeros(2)),
        lambda: jax.Ref(),
        lambda: jax.freeze(1.0),
        lambda: jax.jit(lambda x: jax.new_ref(x))(1.0),
    ],
)
def test_references_say_what_to_write(make):
    with pytest.raises(NotImplementedError, match="lax.scan"):
        make()


def test_declared_types_cannot_be_used():
    class Scale(hijax.HiPrimitive):
        pass

    class Mutable(hijax.MutableHiType):
        get = hijax.aval_method(lambda self: None)
        size = hijax.aval_property(lambda self: 0)

    class Rounded(hijax.VJPHiPrimitive):
        pass

    hijax.register_hitype(Mutable, lambda x: None)
    hijax.control_flow_allowed_effects.add_type(ValueError)
    assert hijax.control_flow_allowed_effects.contains(ValueError())
    for use in (lambda: Scale("scale").bind(1.0), Mutable, Rounded, lambda: cur_qdd(1)):
        with pytest.raises(NotImplementedError, match="register_dataclass"):
            use()


def test_types_take_a_sharding_over_one_device():
    aval = jax.typeof(jnp.ones((2, 3)))
    same = jax.core.ShapedArray(aval.shape, aval.dtype, sharding=aval.sharding)
    assert same is aval


def test_the_older_name_of_the_platform():
    before = jax.config.jax_platform_name
    jax.config.update("jax_platform_name", "cpu")
    try:
        assert jax.devices()[0].platform == "cpu"
    finally:
        jax.config.update("jax_platform_name", before)
