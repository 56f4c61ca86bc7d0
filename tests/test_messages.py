"""Users' mistakes and what they are told.

`mistakes/` holds short wrong programs that beginners write. For each, the golden file
`golden/messages.txt` has the program and the exact message; read it as a whole to judge
the wording. Beyond the text, every message must name what the user wrote (`shows`), have
the expected type, use no internal operation's name, and come with at most two frames of
the library.

To accept changed messages, run with UPDATE_GOLDEN=1 and read the difference.
"""

from __future__ import annotations

import contextlib
import difflib
import gc
import inspect
import linecache
import os
import pathlib
import pickle
import re
import subprocess
import sys
import traceback
from typing import Any, NamedTuple

import numpy as np
import pytest
from mistakes import MISTAKES, Mistake

import tetrad as jax
import tetrad.numpy as jnp
from tetrad import errors, lax, random
from tetrad._src.ops.families import Unary
from tetrad._src.passes.plan import allocate
from tetrad._src.util import misfit

pytestmark = pytest.mark.usefixtures("few_objects")

GOLDEN = pathlib.Path(__file__).parent / "golden" / "messages.txt"
PACKAGE = os.path.dirname(jax.__file__) + os.sep

# Words of the inside. Functions of lax may use their own names.
INTERNAL = re.compile(
    r"\b(dot_general|broadcast_in_dim|convert_element_type|select_n|expand_dims_p"
    r"|dynamic_slice(?!_in_dim)|dynamic_update_slice|scatter|gather|iota|reduce_sum"
    r"|reduce_max|StageTracer|BatchTracer|LinearTracer|JVPTracer|squeeze_p|NoneType"
    r"|Aval|_src)\b"
)


# ------------------------------------------------------------------------ the machinery


class Told(NamedTuple):
    """What a user sees of a mistake."""

    error: BaseException
    frames: list[traceback.FrameSummary]

    @property
    def ours(self) -> list[traceback.FrameSummary]:
        return [f for f in self.frames if f.filename.startswith(PACKAGE)]


def file_name(mistake: Mistake) -> str:
    return re.sub(r"\W+", "_", mistake.title) + ".py"


def run(mistake: Mistake) -> Told | None:
    """Runs the program as a file of its own, whose source can be read."""
    name = file_name(mistake)
    lines = mistake.program.splitlines(keepends=True)
    linecache.cache[name] = (len(mistake.program), None, lines, name)
    names: dict[str, Any] = {
        "jax": jax, "jnp": jnp, "np": np, "lax": lax, "random": random,
        "__name__": "program",
    }  # fmt: skip
    try:
        exec(compile(mistake.program, name, "exec"), names)
    except BaseException as error:
        shown = [
            f
            for f in traceback.extract_tb(error.__traceback__)
            if f.filename != __file__
        ]
        return Told(error, shown)
    return None


def message(error: BaseException) -> str:
    notes = getattr(error, "__notes__", [])
    text = "\n".join([str(error), *notes])
    # Other tests of the process may have registered a plugin.
    return re.sub(r"exist: cpu(, \w+)*\.", "exist: cpu.", text)


def page(mistake: Mistake, told: Told | None) -> str:
    """The mistake as it stands in the golden file."""
    if told is None:
        return f"## {mistake.title}\n\n{mistake.program}\n(no error)\n"
    kind = type(told.error).__name__
    return f"## {mistake.title}\n\n{mistake.program}\n{kind}: {message(told.error)}\n"


def golden_pages() -> dict[str, str]:
    text = GOLDEN.read_text(encoding="utf-8") if GOLDEN.exists() else ""
    parts = text.split("\n## ")[1:]
    pages = ["## " + part.rstrip("\n") + "\n" for part in parts]
    return {p.splitlines()[0][3:]: p for p in pages}


@pytest.fixture(scope="module")
def golden() -> dict[str, str]:
    if os.environ.get("UPDATE_GOLDEN"):
        pages = [page(m, run(m)) for m in MISTAKES]
        GOLDEN.parent.mkdir(exist_ok=True)
        GOLDEN.write_text("# Mistakes and messages\n\n" + "\n".join(pages), "utf-8")
    return golden_pages()


@pytest.mark.parametrize("case", MISTAKES, ids=[file_name(m)[:-3] for m in MISTAKES])
def test_message(case: Mistake, golden: dict[str, str]) -> None:
    told = run(case)
    assert told is not None, "no error"
    assert isinstance(told.error, case.error), type(told.error)
    text = message(told.error)
    missing = [words for words in case.shows if words not in text]
    assert not missing, f"the message does not show {missing}:\n{text}"
    found = INTERNAL.search(text)
    assert found is None, f"the message speaks of {found and found[0]}:\n{text}"
    assert len(told.ours) <= 2, told.ours
    assert told.frames[-1 - len(told.ours)].filename == file_name(case)
    for _ in range(2):  # what repeats is planned or compiled, and fails all the same
        again = run(case)
        assert again is not None and message(again.error) == text
        assert len(again.ours) <= 2, again.ours
    got, wanted = page(case, told), golden.get(case.title, "")
    assert got == wanted, "\n".join(
        difflib.unified_diff(wanted.splitlines(), got.splitlines(), lineterm="")
    )


# -------------------------------------------------------------------------------- leaks


class Holder:
    kept: Any = None
    __slots__ = ("inner",)

    def __init__(self) -> None:
        self.inner: dict[str, list[Any]] = {"a": []}


def leak(store: Any) -> None:
    """Traces a function that stores a traced value somewhere."""

    @jax.jit
    def traced(x: Any) -> Any:
        store(x * 2)
        return x

    traced(1.0)


def held(use: Any) -> str:
    with pytest.raises(errors.UnexpectedTracerError) as caught:
        use()
    text = str(caught.value)
    assert "leak.<locals>.traced" in text and "test_messages.py" in text
    return text[text.index("It is held by") :].split(". ")[0]


def test_leaks_say_what_holds_the_value() -> None:
    class Kept:
        pass

    found: dict[str, Any] = {}
    leak(lambda x: found.update(h=x))
    assert "variable `found['h']`" in held(lambda: found["h"] + 1)
    layer = Kept()
    leak(lambda x: setattr(layer, "cache", x))
    assert held(lambda: -layer.cache) == "It is held by the attribute `cache` of a Kept"
    leak(lambda x: setattr(Kept, "best", x))
    assert "attribute `best` of the class Kept" in held(lambda: jnp.sin(Kept.best))
    holder = Holder()
    leak(holder.inner["a"].append)
    assert "attribute `inner['a'][0]` of a Holder" in held(
        lambda: holder.inner["a"][0] * 2
    )
    last = None

    def keep(x: Any) -> None:
        nonlocal last
        last = x

    leak(keep)
    assert "variable `last`" in held(lambda: last + 1)


@pytest.mark.parametrize(
    "use", [bool, int, float, np.asarray, lambda x: [1, 2][x], lambda x: x.tolist()]
)
def test_leaked_values_are_told_from_traced_ones(use: Any) -> None:
    kept: list[Any] = []
    leak(kept.append)
    held(lambda: use(kept[0]))


# ------------------------------------------------------------------------------- devices


def test_mixed_devices() -> None:
    program = """
import tetrad as jax, tetrad.numpy as jnp
jax.set_cpu_devices(2)
a, b = [jax.device_put(jnp.ones(3), device) for device in jax.devices()]
try:
    a + b
except ValueError as error:
    print(error)
"""
    text = output_of(program)
    assert "cpu:0" in text and "cpu:1" in text and "jax.device_put" in text


def output_of(program: str, limit: int = 120) -> str:
    """What a program prints that runs in a process of its own."""
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True, text=True, timeout=limit, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stdout


# ---------------------------------------------------------------------------------- vmap


def product(x: Any, y: Any) -> Any:
    return x * y


WRONG_MAPS: list[tuple[dict[str, Any], tuple[Any, ...]]] = [
    ({}, (np.ones(3), np.ones(4))),
    ({}, (np.ones(3), 2.0)),
    ({}, (2.0, np.ones(3))),
    ({"in_axes": 1}, (np.ones((3, 4)), np.ones(4))),
    ({"in_axes": -2}, (np.ones(3), np.ones((3, 4)))),
    ({"in_axes": (0,)}, (np.ones(3), np.ones(3))),
    ({"in_axes": (0, 0, 0)}, (np.ones(3), np.ones(3))),
    ({"in_axes": (0, 1)}, (np.ones(3), np.ones(3))),
    ({"in_axes": (0, 2)}, (np.ones(3), np.ones((3, 4)))),
    ({"in_axes": (0, 0)}, (np.ones((2, 4)), np.ones((4, 2)))),
    ({"in_axes": (1, 0)}, (np.ones((3, 3, 2)), np.ones((2, 2)))),
    ({"in_axes": (None, 1)}, (np.ones(3), np.ones(3))),
]


@pytest.mark.parametrize(("options", "args"), WRONG_MAPS)
def test_what_vmap_suggests_works(options: dict[str, Any], args: Any) -> None:
    with pytest.raises(ValueError) as caught:
        jax.vmap(product, **options)(*args)
    text = str(caught.value)
    assert "x" in text and "y" in text and "`product`" in text
    suggested = re.findall(r"in_axes=(\(.*?\)|-?\d+|None)", text)[-1]
    sizes = jax.vmap(lambda x, y: 0.0, in_axes=eval(suggested))(*args).shape
    assert len(sizes) == 1


# ------------------------------------------------------------------------- wrong arguments


@pytest.mark.parametrize("module", ["jnp", "lax", "random", "nn", "linalg"])
def test_wrong_arguments_never_crash(module: str, tmp_path: pathlib.Path) -> None:
    script = pathlib.Path(__file__).parent / "wrong_arguments.py"
    log = tmp_path / "calls.txt"
    done = subprocess.run(
        [sys.executable, str(script), module, "2", "2"],
        capture_output=True, text=True, timeout=600, check=False,
        env={**os.environ, "WRONG_ARGUMENTS_LOG": str(log)},
    )  # fmt: skip
    calls = log.read_text(encoding="utf-8").splitlines()
    assert done.returncode == 0, f"{calls[-1:]}\n{done.stderr[-3000:]}"
    *wrong, counts = done.stdout.splitlines()
    assert counts.startswith("counts:")
    assert not wrong, "\n".join(wrong)


# ---------------------------------------------------------------------------- tracebacks


def test_frames_of_the_user_stay() -> None:
    def inner(x: Any) -> Any:
        return x @ jnp.ones(5)

    def outer(x: Any) -> Any:
        return jnp.sum(jax.vmap(inner)(x))

    told = told_of(lambda: jax.jit(jax.grad(outer))(jnp.ones((2, 3))))
    names = [f.name for f in told.frames if not f.filename.startswith(PACKAGE)]
    assert names[-3:] == ["<lambda>", "outer", "inner"]
    assert len(told.ours) <= 2


def test_functions_can_be_pickled_and_have_their_names() -> None:
    for function in (jnp.sum, jnp.reshape, lax.dot, random.normal, jax.vmap, jnp.add):
        assert pickle.loads(pickle.dumps(function)) is function
    assert jnp.sum.__name__ == "sum"
    assert inspect.signature(jnp.expand_dims).parameters.keys() == {"a", "axis"}


# -------------------------------------------------------------------------- late errors


class Riddle(Unary):
    """An operation that no compiler can make code for."""

    @staticmethod
    def scalar(block: Any, x: Any) -> Any:
        raise NotImplementedError("riddles have no code")


riddle = Riddle()


def told_of(run: Any) -> Told:
    with pytest.raises(Exception) as caught:
        run()
    error = caught.value
    shown = traceback.extract_tb(error.__traceback__)
    return Told(error, [f for f in shown if "pytest" not in f.filename])


def line_in(told: Told, words: str) -> None:
    """Asserts that the message names this file and shows the line with `words`."""
    text = message(told.error)
    assert os.path.basename(__file__) in text
    assert words in text, text


def test_what_fails_at_the_flush_names_the_line_that_was_recorded() -> None:
    x = jnp.ones(3)
    y = riddle(x + 1)
    z = y * 2
    told = told_of(lambda: np.asarray(z))
    assert isinstance(told.error, NotImplementedError)
    line_in(told, "y = riddle(x + 1)")
    assert len(told.ours) <= 2
    # And again, when it is asked for again.
    line_in(told_of(lambda: z.tolist()), "y = riddle(x + 1)")


def test_what_fails_alone_names_the_line() -> None:
    x = jax.block_until_ready(jnp.ones(3))
    y = riddle(x)
    line_in(told_of(y.block_until_ready), "y = riddle(x)")


def test_what_fails_inside_of_jit_names_the_line() -> None:
    @jax.jit
    def f(x: Any) -> Any:
        return riddle(x) + 1

    line_in(told_of(lambda: np.asarray(f(jnp.ones(3)))), "return riddle(x) + 1")


def test_a_failure_stays_with_what_depends_on_it() -> None:
    x = jnp.arange(3.0)
    wrong = riddle(x)
    after = x + 1
    both = after + wrong
    told_of(lambda: np.asarray(wrong))
    assert after.tolist() == [1, 2, 3] and x.tolist() == [0, 1, 2]
    told_of(lambda: np.asarray(both))
    fresh = after * 2
    assert fresh.tolist() == [2, 4, 6]
    told_of(lambda: (both + fresh).tolist())
    assert (fresh + after).tolist() == [3, 6, 9]


def test_out_of_memory_names_the_line_and_leaves_others_alone() -> None:
    x = jnp.arange(3.0)
    huge = jnp.ones(10**12) * x[0]
    after = x + 1
    told = told_of(huge.block_until_ready)
    assert isinstance(told.error, errors.OutOfMemoryError)
    line_in(told, "TiB")
    assert len(told.ours) <= 2
    assert after.tolist() == [1, 2, 3]


def test_arrays_of_a_failed_recording_are_let_go() -> None:
    device = jax.devices()[0]
    gc.collect()
    before = device.memory_stats()["bytes_in_use"]
    x = jax.block_until_ready(jnp.ones(1000))
    y = riddle(x)
    with contextlib.suppress(NotImplementedError):
        y.block_until_ready()
    del x, y
    assert device.memory_stats()["bytes_in_use"] == before


@pytest.mark.parametrize("file", ["<string>", "<stdin>", "<ipython-input-1-abc>"])
@pytest.mark.parametrize(
    "transform",
    [jax.grad, jax.jit, jax.checkpoint, lambda f: lambda x: jax.vmap(f)(x[None])],
)
def test_an_error_in_what_the_user_types_stays_what_it_is(file, transform):
    typed = eval(compile("lambda x: x.nothing", file, "eval"))
    with pytest.raises(AttributeError, match="nothing"):
        transform(typed)(jnp.ones(()))


def test_an_error_inside_of_a_private_module_has_the_public_name():
    with pytest.raises(
        ValueError, match=r"^jnp\.linalg\.svd: subset_by_index cannot be"
    ):
        jnp.linalg.svd(jnp.eye(3), full_matrices=False, subset_by_index="abc")


def test_faults_of_compilation_are_not_blamed_on_arguments() -> None:
    with pytest.raises(AttributeError) as caught:
        allocate("no plan", {})  # type: ignore[arg-type]
    error = caught.value.with_traceback(caught.tb.tb_next)
    assert misfit.instead_of(error, jnp.sin, (1.0,), {}) is None
