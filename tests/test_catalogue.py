"""Every operation of the catalogue: values, types, jit, and refused arguments."""

import inspect

import numpy as np
import pytest
from catalogue import EXEMPT, EXEMPT_NN, EXEMPT_NUMPY, ROWS
from catalogue.row import DOUBLE
from support import assert_bits, assert_close

import tetrad as jax
import tetrad.numpy as jnp


def cases(test, dtypes, known=None):
    """Rows and dtypes as parameters of a test, those that are known to fail marked.

    `known` is the key of `Row.broken` if it is not the name of the test.
    """
    known = known or test
    found = []
    for row in ROWS:
        if test not in row.tests:
            continue
        for dtype in dtypes(row):
            reason = row.broken.get(f"{known} {dtype}") or row.broken.get(known)
            marks = [pytest.mark.xfail(reason=reason, strict=True)] if reason else []
            found.append(pytest.param(row, dtype, id=f"{row}-{dtype}", marks=marks))
    return found


def leaves(out):
    return jax.tree.leaves(out)


@pytest.mark.parametrize("row, dtype", cases("values", lambda row: row.dtypes))
def test_values(row, dtype):
    x64 = dtype in DOUBLE
    with jax.enable_x64(x64):
        for name, args in row.samples(dtype).items():
            outs = leaves(row.run(jax, *[jnp.asarray(a) for a in args]))
            wants = row.rounded(row.expected(args), dtype, x64)
            assert len(outs) == len(wants), f"{len(outs)} outputs"
            for out, want in zip(outs, wants):
                assert out.weak_type == row.weak
                try:
                    assert_close(out, want, row.limit(dtype), row.margin(dtype))
                except AssertionError as error:
                    raise AssertionError(
                        f"{name}: {error}{near(args, error)}"
                    ) from None


def near(args, error):
    """The operands at the worst element, if the message names it."""
    text = str(error)
    if "worst at [" not in text:
        return ""
    at = text.split("worst at [")[1].split("]")[0]
    at = tuple(int(i) for i in at.split(",")) if at else ()
    shapes = {np.shape(a) for a in args}
    return f", operands {[a[at] for a in args]!r}" if len(shapes) == 1 else ""


@pytest.mark.parametrize("row, dtype", cases("jit", lambda row: row.light_dtypes()))
def test_jit_gives_the_bits_and_types_of_eager_code(row, dtype):
    fun = row.function(jax)
    name = "edges" if row.has_edges(dtype) else "main"
    args = [jnp.asarray(a) for a in row.samples(dtype)[name]]
    # From the second call on, eager code may go by a plan.
    eager = [leaves(fun(*args)) for _ in range(3)]
    compiled = leaves(jax.jit(fun)(*args))
    shapes = leaves(jax.eval_shape(fun, *args))
    assert {len(outs) for outs in (*eager, compiled)} == {len(shapes)}
    for *ones, other, shape in zip(*eager, compiled, shapes):
        for one in ones:
            assert_bits(other, one)
        for out in (*ones, other):
            assert out.shape == shape.shape
            assert out.dtype == shape.dtype
            assert out.weak_type == getattr(shape, "weak_type", False)


@pytest.mark.parametrize("row", [r for r in ROWS if r.errors], ids=str)
def test_refused_arguments(row):
    function = jax
    for part in row.name.split("."):
        function = getattr(function, part)
    for bad in row.errors:
        with pytest.raises(bad.error, match=bad.message):
            function(*bad.args, **bad.params)


def functions_of(module):
    return {
        name
        for name, value in vars(module).items()
        if callable(value) and not inspect.isclass(value) and not name.startswith("_")
    }


@pytest.mark.parametrize(
    "path, exempt", [("lax", EXEMPT), ("numpy", EXEMPT_NUMPY), ("nn", EXEMPT_NN)]
)
def test_every_function_has_a_row(path, exempt):
    have = {row.name.removeprefix(f"{path}.") for row in ROWS}
    functions = functions_of(getattr(jax, path))
    missing = sorted(functions - have - set(exempt))
    assert not missing, f"add a row for {missing}, or a reason to EXEMPT"
    assert set(exempt) <= functions, "EXEMPT names what does not exist"
    assert not have & set(exempt), "EXEMPT names what has a row"


def test_shapes_that_broadcast():
    assert jax.lax.broadcast_shapes((2, 1), (4, 1, 3)) == (4, 2, 3)
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        jax.lax.broadcast_shapes((2,), (3,))


def test_rows_have_names_of_their_own():
    names = [str(row) for row in ROWS]
    assert len(set(names)) == len(names)
