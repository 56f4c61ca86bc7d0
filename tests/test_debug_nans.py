"""`jax_debug_nans` and `jax_debug_infs`: the error names what made the NaN."""

import cProfile
import sys
import threading

import numpy as np
import plugin
import pytest

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax
from tetrad._src.runtime.lazy import Recorder
from tetrad.errors import NonFiniteError


@pytest.fixture
def looking():
    with jax.debug_nans(True):
        yield


def message(fun, *args):
    with pytest.raises(NonFiniteError) as caught:
        fun(*args)
    assert isinstance(caught.value, FloatingPointError)
    return str(caught.value)


def log_of_less(x):
    y = x - 1.0
    return jnp.log(y).sum()


X = np.array([2.0, 0.0, 3.0], np.float32)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_names_operation_line_and_operands(looking, wrap):
    text = message(wrap(log_of_less), X)
    assert text.startswith("invalid value (nan) encountered in log: `jnp.log(y)` at ")
    assert "test_debug_nans.py" in text
    assert "in `log_of_less`" in text
    assert "value at [1]" in text
    assert "float32[3] | -1.0" in text
    assert "1 of 3 is NaN" in text


def guarded(x):
    return jnp.sum(jnp.where(x > 0, jnp.sqrt(x), 0.0))


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
def test_backward_pass_names_the_forward_line(looking, wrap):
    assert float(wrap(guarded)(jnp.array([0.0, 4.0]))) == 2.0
    text = message(wrap(jax.grad(guarded)), jnp.array([0.0, 4.0]))
    assert "in the backward pass of `jnp.sqrt(x)`" in text
    assert "in `guarded`" in text
    assert "jnp.where(ok, x, 1.0)" in text


def test_backward_pass_inside_jit(looking):
    text = message(jax.grad(jax.jit(guarded)), jnp.array([0.0, 4.0]))
    assert "in the backward pass of `jnp.sqrt(x)`" in text


def test_forward_mode(looking):
    text = message(lambda: jax.jvp(guarded, (jnp.zeros(2),), (jnp.zeros(2),)))
    assert "`jnp.sqrt(x)`" in text


def test_vmap(looking):
    text = message(jax.vmap(lambda x: jnp.log(x)), jnp.array([1.0, -1.0]))
    assert "encountered in log" in text
    assert "value at [1]" in text


def falling(c, x):
    c = c - x
    return c, jnp.log(c)


@pytest.mark.parametrize("wrap", [lambda f: f, jax.jit], ids=["eager", "jit"])
@pytest.mark.parametrize("reverse", [False, True])
def test_scan_names_the_step(looking, wrap, reverse):
    def run(x):
        return lax.scan(falling, x, jnp.ones(5), reverse=reverse)

    step = 1 if reverse else 3
    text = message(wrap(run), 3.0)
    assert f"step {step} of scan" in text
    assert "`jnp.log(c)`" in text


def test_while_names_the_step(looking):
    def step(c):
        return jnp.sqrt(c - 1) - 1

    text = message(lambda: lax.while_loop(lambda c: c < 5, step, 3.5))
    assert "step 1 of while" in text
    assert "`jnp.sqrt(c - 1)`" in text


def test_branches(looking):
    def root(x):
        return jnp.sqrt(x)

    text = message(lambda: lax.cond(True, root, jnp.log, -1.0))
    assert "branch 1 of cond" in text
    lanes = jax.vmap(lambda x: lax.cond(x > 0, jnp.log, root, x))
    text = message(lanes, jnp.array([1.0, -1.0]))
    assert "encountered in sqrt" in text


def test_a_literal_is_told(looking):
    f = jax.jit(lambda x: (jnp.nan, x + 2))
    assert "which returns the literal nan" in message(f, 3)


def test_an_operand_from_outside_is_told(looking):
    text = message(jax.jit(lambda x: x * 3.0), np.nan)
    assert "An operand has a NaN already" in text


def test_donated_operands_are_shown(looking):
    f = jax.jit(lambda x: 0.0 / x, donate_argnums=0)
    x = jnp.array(0.0)
    assert "encountered in div" in message(f, x)
    assert x.is_deleted()


def test_what_is_not_returned_is_no_error(looking):
    assert float(jnp.sinc(0.0)) == 1.0
    assert float(jax.jit(lambda x: jnp.where(x > 0, jnp.log(x), 0.0))(-1.0)) == 0.0
    assert np.isnan(float(jnp.array(np.nan)))


def test_infinities():
    with jax.debug_infs(True):
        text = message(lambda: 1 / jnp.zeros(3))
        assert text.startswith("invalid value (inf) encountered in div")
        assert "3 of 3 are infinite" in text
        assert np.isnan(float(jnp.log(-1.0)))
    with jax.debug_nans(True):
        assert np.isinf(float(1 / jnp.zeros(())))


def test_other_dtypes(looking):
    for dtype in ("float16", "bfloat16", "complex64"):
        x = jnp.zeros((), dtype)
        assert "encountered in div" in message(lambda x=x: x / x)


def test_costs_nothing_when_off_everywhere():
    plain = Recorder.process
    with jax.debug_nans(True):
        assert Recorder.process is not plain
        with jax.debug_nans(False):
            assert np.isnan(float(jnp.log(-1.0)))
        with jax.debug_infs(True):
            pass
        assert Recorder.process is not plain
    assert Recorder.process is plain
    jax.config.update("jax_debug_nans", True)
    try:
        assert Recorder.process is not plain
    finally:
        jax.config.update("jax_debug_nans", False)
    assert Recorder.process is plain


def test_other_threads_are_left_alone(looking):
    results = []

    def run():
        results.append(float(jnp.log(jnp.float32(-1.0))))

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    assert np.isnan(results[0])


def test_errors_can_be_caught_and_work_goes_on(looking):
    for _ in range(3):
        message(lambda: jnp.log(jnp.float32(-1.0)))
        assert float(jnp.log(jnp.float32(1.0))) == 0.0


def test_profilers_are_left_alone(looking):
    heard = []

    def profiler(frame, event, arg):
        heard.append(event)

    sys.setprofile(profiler)
    try:
        assert float(jnp.sinc(0.0)) == 1.0
        assert sys.getprofile() is profiler
    finally:
        sys.setprofile(None)
    assert heard
    profile = cProfile.Profile()
    with profile:
        message(lambda: jnp.log(jnp.float32(-1.0)))


@plugin.needs_plugin
def test_on_a_plugin(looking):
    with plugin.on_plugin():
        x = jnp.array([2.0, 0.0, 3.0])
        text = message(jax.jit(log_of_less), x)
        assert "`jnp.log(y)`" in text and "float32[3] | -1.0" in text
        assert "step 3 of scan" in message(lambda: lax.scan(falling, 3.0, jnp.ones(5)))
        f = jax.jit(lambda x: 0.0 / x, donate_argnums=0)
        assert "encountered in div" in message(f, jnp.array(0.0))


def test_running_again_is_no_second_use_of_a_key(looking):
    def noisy(key):
        def step(c, k):
            return c, jnp.log(jax.random.normal(k))

        return lax.scan(step, 0.0, jax.random.split(key, 9))

    for wrap in (lambda f: f, jax.jit):
        assert "of scan" in message(wrap(noisy), jax.random.key(0))
