"""The check of random keys: what it notices, what it lets pass, and what it says."""

import importlib.util
import inspect
import linecache
import textwrap
import warnings
from pathlib import Path

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


# ------------------------------------------------------------------------------- messages


def message(program, mode="warn"):
    (text,) = run(program, mode)
    return text


def test_the_message_names_all_places_and_the_line_to_write():
    text = message(
        """
        rng = random.key(3)
        x = random.normal(rng, (3,))
        y = random.uniform(rng, (3,))
        """
    )
    name = f"program{_count}.py"
    assert text.splitlines()[:-1] == [
        "the random key `rng` is used twice: the two results are correlated.",
        f"    made        {name}:1  rng = random.key(3)",
        f"    first used  {name}:2  x = random.normal(rng, (3,))",
        f"    used again  {name}:3  y = random.uniform(rng, (3,))",
        "Split the key before each use:",
        "    rng, subkey = random.split(rng)",
        "    y = random.uniform(subkey, (3,))",
    ]


def test_the_message_lengthens_a_split():
    text = message(
        """
        k1, k2 = random.split(key)
        x = random.uniform(key)
        """
    )
    assert "is used after it was split" in text
    assert "    k1, k2, subkey = random.split(key, 3)" in text


def test_the_message_finds_the_caller_of_a_function():
    text = message(
        """
        def init(key):
            return random.normal(key)
        seed = random.key(3)
        w = init(seed)
        b = init(seed)
        """
    )
    assert "`seed` is used twice: it gives the same random numbers again" in text
    assert "    seed, subkey = random.split(seed)\n    b = init(subkey)" in text


def test_the_message_names_the_argument_of_a_compiled_function():
    text = message(REUSE["a pytree under jit"])
    assert "`" in text
    text = message(
        """
        @jax.jit
        def draw(scale, keys):
            return scale * random.normal(keys["a"]) + random.uniform(keys["a"])
        x = draw(2.0, {"a": key})
        """
    )
    assert "    given       to `draw` as `keys['a']`\n" in text


def test_messages_of_vmap_and_loops():
    lanes = message(REUSE["vmap over x alone, the key with in_axes=None"])
    assert "`key` is not mapped by vmap: every lane draws the same" in lanes
    steps = message(REUSE["fori_loop that closes over the key"])
    assert "`key` stays the same in a loop: every step draws the same" in steps
    assert "fold_in(key, i)" in steps


def test_a_warning_comes_once_for_a_place_and_at_that_line():
    found = run("for _ in range(5):\n    a = random.normal(key)", "warn")
    assert len(found) == 1
    found = run("a = random.normal(key)\n" + "b = random.normal(key)\n" * 3, "warn")
    assert len(found) == 3
    key = random.key(0)
    random.normal(key)
    with pytest.warns(KeyReuseWarning) as seen:
        random.normal(key)
    assert seen[0].filename == __file__


# ------------------------------------------------------------------------------- settings


def test_modes():
    key = random.key(0)
    random.normal(key)
    with jax.key_check("error"), pytest.raises(KeyReuseError):
        random.normal(key)
    with jax.debug_key_reuse(True):
        with pytest.raises(KeyReuseError):
            random.normal(key)
        with jax.key_check("off"):
            random.normal(key)
            with jax.debug_key_reuse(True), pytest.raises(KeyReuseError):
                random.normal(key)
    with jax.debug_key_reuse(False):
        random.normal(key)
    with pytest.raises(ValueError, match="must be one of 'off', 'warn'"):
        jax.key_check("loud")
    assert jax.config.tetrad_key_check == "warn"
    assert random.KeyReuseError is jax.errors.KeyReuseError


def test_uses_while_the_check_is_off_do_not_count():
    key = random.key(0)
    with jax.key_check("off"):
        random.normal(key)
    random.normal(key)


def test_a_function_that_was_traced_before_is_an_error_in_its_turn():
    f = jax.jit(lambda key: random.normal(key) + random.normal(key))
    k1, k2 = random.split(random.key(0))
    with jax.key_check("off"):
        f(k1)
    with jax.key_check("error"), pytest.raises(KeyReuseError):
        f(k2)


def test_strict_compares_seeds():
    program = "a = random.key(1234)\nb = random.key(1234)\n"
    assert not run(program, "warn")
    (text,) = run(program, "strict")
    assert "two keys are made from one seed, 1234" in text
    assert not run("for _ in range(3):\n    a = random.key(1235)\n", "strict")


# ----------------------------------------------------------------------------- bookkeeping


def test_keys_that_were_computed_long_ago_are_known():
    key = random.PRNGKey(0)
    keys = random.split(key, 3)
    first, grid = keys[0], random.split(keys[2], (2, 2))
    jax.block_until_ready((first, grid))
    one = grid[1, 0]
    jax.block_until_ready(one)
    random.normal(first), random.normal(one)
    with jax.key_check("error"):
        for again in (keys[0], grid[1][0], grid[:, 0][1]):
            with pytest.raises(KeyReuseError):
                random.normal(again)
        random.normal(grid[0, 0])


def test_a_long_line_of_ancestors_is_forgotten():
    key = random.key(0)
    for _ in range(1000):
        key, _ = random.split(key)
    family = key.note[0]
    length = 0
    while family.parent is not None:
        family = family.parent[0]
        length += 1
    assert length < 200
    assert family.how == "seed"


def test_arrays_that_are_no_keys_carry_nothing():
    words = jnp.zeros((4, 2), np.uint32)
    assert not hasattr(words[0], "note")
    assert not hasattr(random.normal(random.key(0), (3,)), "note")


# ---------------------------------------------------------------------------------- trees


def test_the_tree_of_keys():
    with jax.see.keys() as tree:
        key = random.key(42)
        init, key, spare = random.split(key, 3)
        random.normal(init)
        for i in range(10):
            key, sub = random.split(key)
            random.uniform(random.fold_in(sub, i))
    rows = [line[:28].rstrip() for line in str(tree).splitlines()]
    assert rows == [
        "key(42)",
        "└─ split into 3",
        "   ├─ [0] normal",
        "   ├─ [1] split into 2  ×10",
        "   │  └─ [1] fold_in  ×10",
        "   │     └─ uniform  ×10",
        "   └─ [2] not used",
    ]
    assert not tree.reused
    with jax.see.keys() as tree, pytest.warns(KeyReuseWarning):
        key = random.PRNGKey(1)
        random.normal(key)
        random.normal(key)
    assert "normal  ← used again" in str(tree)
    assert len(tree.reused) == 1
    assert tree.svg().count("<text") > 3 and tree._repr_html_().startswith("<svg")


def test_the_picture_in_the_documentation_is_up_to_date():
    root = Path(__file__).parent.parent
    spec = importlib.util.spec_from_file_location("tree", root / "tools/key_tree.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.FILE.read_text(encoding="utf-8") == module.picture()


# ------------------------------------------------------------------------------- samplers

ARGUMENTS = {
    "ball": (3,),
    "beta": (1.0, 2.0),
    "binomial": (5, 0.3),
    "categorical": (np.ones(3, np.float32),),
    "chisquare": (3.0,),
    "choice": (5,),
    "dirichlet": (np.ones(3, np.float32),),
    "double_sided_maxwell": (0.0, 1.0),
    "f": (2.0, 3.0),
    "gamma": (2.0,),
    "generalized_normal": (1.5,),
    "geometric": (0.3,),
    "loggamma": (2.0,),
    "multinomial": (7, np.ones(3, np.float32) / 3),
    "multivariate_normal": (np.zeros(2, np.float32), np.eye(2, dtype=np.float32)),
    "orthogonal": (3,),
    "pareto": (2.0,),
    "permutation": (5,),
    "poisson": (3.0,),
    "randint": ((3,), 0, 9),
    "rayleigh": (1.0,),
    "t": (2.0,),
    "triangular": (0.0, 0.5, 1.0),
    "truncated_normal": (-1.0, 1.0),
    "wald": (1.0,),
    "weibull_min": (1.0, 2.0),
}
NO_SAMPLERS = {
    "PRNGKey", "clone", "fold_in", "key", "key_data", "key_dtype", "key_impl", "split",
    "wrap_key_data",
}  # fmt: skip
SAMPLERS = sorted(
    name
    for name, member in vars(random).items()
    if inspect.isfunction(member) and name not in NO_SAMPLERS and name[0] != "_"
)


@pytest.mark.parametrize("name", SAMPLERS)
def test_every_sampler_uses_its_key_up(name):
    def draw(key):
        return getattr(random, name)(key, *ARGUMENTS.get(name, ()))

    parent = random.key(1)
    with jax.key_check("error"):
        for f in (draw, jax.jit(draw), jax.vmap(draw)):
            parent, key = random.split(parent)
            if f is not draw and not hasattr(f, "lower"):
                key = random.split(key, 2)
            f(key)
            with pytest.raises(KeyReuseError):
                f(key)
        parent, key = random.split(parent)
        with pytest.raises(KeyReuseError, match="not mapped by vmap"):
            jax.vmap(lambda _: draw(key))(np.zeros(2, np.float32))


def test_large_arrays_of_keys_cost_no_search():
    """Which key is where is not asked of arrays beyond a limit; a whole one is."""
    split = "keys = jax.vmap(lambda k: random.split(k, 1000))(random.split(key, 100))\n"
    draw = "jax.vmap(random.normal)(keys[0].reshape(-1))\n"
    whole = "jax.vmap(jax.vmap(random.normal))(keys)\n"
    assert not run(split + draw + draw, "warn")
    assert len(run(split + whole + whole, "warn")) == 1
