"""The check of random keys: what it notices, what it lets pass, and what it says."""

import linecache
import textwrap
import warnings

import numpy as np
import pytest
from key_programs import NO_REUSE, REUSE

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import lax, random
from tetrad.errors import KeyReuseError, KeyReuseWarning

_count = 0


def run(program, mode):
    """Runs a program as a file of its own; gives the warnings."""
    global _count
    _count += 1
    name = f"program{_count}.py"
    source = textwrap.dedent(program).strip() + "\n"
    linecache.cache[name] = (len(source), None, source.splitlines(True), name)
    names = {"jax": jax, "jnp": jnp, "np": np, "lax": lax, "random": random}
    with jax.key_check("off"):
        names["key"] = random.key(17)
        names["raw"] = random.PRNGKey(18)
    with warnings.catch_warnings(record=True) as seen, jax.key_check(mode):
        warnings.simplefilter("always")
        exec(compile(source, name, "exec"), names)
    return [str(w.message) for w in seen if issubclass(w.category, KeyReuseWarning)]


@pytest.mark.parametrize("name", REUSE)
def test_reuse_is_noticed(name):
    found = run(REUSE[name], "warn")
    assert len(found) == 1, "\n".join(found) or "no warning"
    with pytest.raises(KeyReuseError):
        run(REUSE[name], "error")
    assert not run(REUSE[name], "off")


@pytest.mark.parametrize("name", NO_REUSE)
def test_no_false_alarm(name):
    assert not run(NO_REUSE[name], "warn")
    run(NO_REUSE[name], "error")
