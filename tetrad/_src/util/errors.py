"""The exceptions that users meet.  Each docstring is its documentation page.

A page says why the error happens, shows a program that fails, and the program to write
instead.  In the programs, `jax` is tetrad under its usual name.  Source locations and
tracebacks are in `frames`; its functions are offered here too, for whoever writes a
message needs both.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

from tetrad._src.util.frames import Location as Location
from tetrad._src.util.frames import Place as Place
from tetrad._src.util.frames import expression_at as expression_at
from tetrad._src.util.frames import format_where as format_where
from tetrad._src.util.frames import hidden_frames as hidden_frames
from tetrad._src.util.frames import hide_frames as hide_frames
from tetrad._src.util.frames import line_of as line_of
from tetrad._src.util.frames import source_line as source_line
from tetrad._src.util.frames import trim_traceback as trim_traceback
from tetrad._src.util.frames import user_frame as user_frame

__all__ = [
    "CheckError",
    "ConcretizationTypeError",
    "CopyError",
    "DeletedArrayError",
    "JAXIndexError",
    "JAXTypeError",
    "JaxRuntimeError",
    "JaxprTypeError",
    "KeyReuseError",
    "KeyReuseWarning",
    "NonConcreteBooleanIndexError",
    "NonFiniteError",
    "OutOfBoundsError",
    "OutOfBoundsWarning",
    "OutOfMemoryError",
    "ShapeError",
    "TracerArrayConversionError",
    "TracerBoolConversionError",
    "TracerIntegerConversionError",
    "UnexpectedTracerError",
]

_PUBLIC_MODULE = "tetrad.errors"


class JAXTypeError(TypeError):
    """Base of the errors about traced values where Python needs a number now."""

    __module__ = _PUBLIC_MODULE


class JAXIndexError(IndexError):
    """Base of the errors about traced values in indices."""

    __module__ = _PUBLIC_MODULE


class ConcretizationTypeError(JAXTypeError):
    """A traced value was used where its number is needed while tracing.

    **Why.** A function under `jit`, `vmap` or `grad` is run once with stand-ins for its
    arguments, which know their shape and type but not their numbers.  Whatever decides
    the course of the Python program (a shape, a loop count, a dictionary key) must be
    known at that time.

    **Fails.**

        @jax.jit
        def zeros_like_count(n):
            return jnp.zeros(n)         # the shape depends on a traced value

        zeros_like_count(3)

    **Works.** Say that the argument is static: a new value then compiles anew.

        @functools.partial(jax.jit, static_argnums=0)
        def zeros_like_count(n):
            return jnp.zeros(n)

    Or keep the shape fixed and mask what is not wanted, with `jnp.where`.
    """

    __module__ = _PUBLIC_MODULE


class TracerBoolConversionError(ConcretizationTypeError):
    """A traced value was used as a condition: `if`, `while`, `and`, `assert`, `bool()`.

    **Why.** Python must know at once which branch to take, but a traced value has no
    number yet.

    **Fails.**

        @jax.jit
        def clip_below(x):
            if x < 0:                   # which branch?
                return 0.0
            return x

    **Works.** For choosing between values:

        @jax.jit
        def clip_below(x):
            return jnp.where(x < 0, 0.0, x)

    For choosing between computations, `lax.cond(x < 0, f, g, x)`; for loops,
    `lax.while_loop`; for a Python value that selects the program, make the argument
    static with `static_argnums`.
    """

    __module__ = _PUBLIC_MODULE


class TracerIntegerConversionError(JAXTypeError):
    """A traced value was used where Python needs an integer.

    **Why.** Indexing a list, `range(n)` and the like take a Python integer, and a
    traced value has no number yet.

    **Fails.**

        table = [1.0, 2.0, 3.0]

        @jax.jit
        def look_up(i):
            return table[i]             # a list needs a number now

    **Works.** Arrays take traced indices:

        table = jnp.array([1.0, 2.0, 3.0])

        @jax.jit
        def look_up(i):
            return table[i]

    `lax.fori_loop(0, n, body, start)` takes the place of `for i in range(n)`.
    """

    __module__ = _PUBLIC_MODULE


class TracerArrayConversionError(JAXTypeError):
    """A traced value was handed to NumPy.

    **Why.** NumPy computes at once and needs the numbers; a traced value has none yet.

    **Fails.**

        @jax.jit
        def norm(x):
            return np.sqrt(np.sum(np.asarray(x) ** 2))

    **Works.** The functions of `jax.numpy` have the same names:

        @jax.jit
        def norm(x):
            return jnp.sqrt(jnp.sum(x ** 2))

    For code that must run in NumPy, use `jax.pure_callback`, or make the argument
    static.
    """

    __module__ = _PUBLIC_MODULE


class NonConcreteBooleanIndexError(JAXIndexError):
    """A traced boolean array was used as an index.

    **Why.** The shape of `x[mask]` depends on how many elements of `mask` are true, and
    shapes must be known while tracing.

    **Fails.**

        @jax.jit
        def sum_of_positives(x):
            return x[x > 0].sum()

    **Works.** Keep the shape and replace what is not wanted:

        @jax.jit
        def sum_of_positives(x):
            return jnp.where(x > 0, x, 0).sum()

    To change elements, `jnp.where(mask, new, x)`; to find their positions,
    `jnp.nonzero(mask, size=n)`.
    """

    __module__ = _PUBLIC_MODULE


class UnexpectedTracerError(JAXTypeError):
    """A traced value was used after the transformation that made it had ended.

    **Why.** A function stored a traced value where it outlives the call: in a global, an
    attribute, a list.  Outside of the function it stands for nothing.

    **Fails.**

        seen = []

        @jax.jit
        def double(x):
            y = 2 * x
            seen.append(y)              # leaks
            return y

        double(1.0)
        seen[0] + 1

    **Works.** Return what is needed outside:

        @jax.jit
        def double(x):
            y = 2 * x
            return y, y

        result, seen = double(1.0)

    To look at values on the way, `jax.debug.print("{}", y)`.
    """

    __module__ = _PUBLIC_MODULE


class KeyReuseError(JAXTypeError):
    """A random key was used twice, so two draws that look independent are not.

    **Why.** A key determines the numbers that are drawn with it.  Drawing twice with one
    key draws the same numbers twice.

    **Fails.**

        key = jax.random.key(0)
        a = jax.random.normal(key, (3,))
        b = jax.random.uniform(key, (3,))       # depends on a

    **Works.** Split the key, once for each draw:

        key, key_a, key_b = jax.random.split(jax.random.key(0), 3)
        a = jax.random.normal(key_a, (3,))
        b = jax.random.uniform(key_b, (3,))
    """

    __module__ = _PUBLIC_MODULE


class KeyReuseWarning(UserWarning):
    """A random key was used twice: a `KeyReuseError` where it shall not stop the program.

    **Why.** A key determines the numbers that are drawn with it.  It is warned of once
    for each place in the source; `jax.key_check("error")` makes an error of it.

    **Fails.**

        key = jax.random.key(0)
        a = jax.random.normal(key, (3,))
        b = jax.random.uniform(key, (3,))       # depends on a

    **Works.** Split the key, once for each draw; where the same numbers are wanted, say
    so:

        key, subkey = jax.random.split(jax.random.key(0))
        a = jax.random.normal(subkey, (3,))
        b = jax.random.normal(jax.random.clone(subkey), (3,))
    """

    __module__ = _PUBLIC_MODULE


class OutOfBoundsError(JAXIndexError):
    """An index is out of range, where `jax.bounds("error")` asks for an error.

    **Why.** Compiled programs cannot stop at a wrong index. What lies out of range reads
    the nearest element and is not written, unless `mode=` says what is wanted. Under
    `jax.bounds("error")` each index is looked at, also under `jit`, `vmap`, `grad` and in
    loops. The message names the index, the axis with its extent, and the line.

    **Fails.**

        with jax.bounds("error"):
            jax.jit(lambda x, i: x[i])(jnp.arange(5), 7)

    **Works.** Indices inside, or a word about those outside:

        with jax.bounds("error"):
            jax.jit(lambda x, i: x.at[i].get(mode="clip"))(jnp.arange(5), 7)
    """

    __module__ = _PUBLIC_MODULE


class OutOfBoundsWarning(UserWarning):
    """An index is out of range: an `OutOfBoundsError` that does not stop the program.

    **Why.** Compiled programs cannot stop at a wrong index: they read the nearest
    element, and write nothing. Where an index is known while Python runs (a number, a
    NumPy array, an array that is computed already), it is looked at, and one that is out
    of range is warned of once for each place in the source. `jax.bounds("error")` makes
    an error of it and looks at all others, too; `jax.bounds("off")` turns it off.

    **Fails.** Where warnings are errors:

        x = jnp.arange(5)
        x[7]                            # 4

    **Works.** Say what is wanted:

        x.at[7].get(mode="clip")        # 4
        x.at[7].get(mode="fill", fill_value=0)
        x.at[7].set(1, mode="drop")
    """

    __module__ = _PUBLIC_MODULE


class JaxprTypeError(TypeError):
    """A jaxpr is not well formed: a variable is unbound or a type does not match.

    **Why.** A program was built or changed by hand, or a rule of a self-defined
    operation returned values whose types differ from what it declared.  The message
    names the equation.
    """

    __module__ = _PUBLIC_MODULE


class JaxRuntimeError(RuntimeError):
    """A compiled program failed while running, or a device failed.

    **Why.** The message says what the device reported and names the line of the program
    that asked for the work.
    """

    __module__ = _PUBLIC_MODULE


class NonFiniteError(FloatingPointError):
    """A result has a NaN or an infinity, which `jax_debug_nans` or `_infs` forbids.

    **Why.** With `jax_debug_nans` on, what every operation gives is looked at.  The
    message names the first operation that made a NaN out of numbers, its line, also
    inside of `jit` and loops, and the numbers.

    **Fails.**

        with jax.debug_nans(True):
            x = jnp.array([1.0, 0.0])
            jnp.log(x) * x              # log(0) is -inf, and -inf * 0 is NaN

    **Works.** Keep the numbers that an operation cannot take away from it:

        safe = jnp.where(x > 0, x, 1.0)
        jnp.where(x > 0, jnp.log(safe) * x, 0.0)

    Choosing after the operation is not enough for gradients: the side that is not chosen
    has a derivative too, and 0 times infinity is NaN.
    """

    __module__ = _PUBLIC_MODULE


class CheckError(JaxRuntimeError, ValueError):
    """A check of `checkify` failed.

    **Why.** The program states a condition with `checkify.check`, or `checkify.checkify`
    was asked to add checks, and a value did not pass one.  The message is that of the
    first check that failed, with its line.

    **Fails.**

        @checkify.checkify
        def root(x):
            checkify.check(x >= 0, "x must not be negative, got {}", x)
            return jnp.sqrt(x)

        error, y = jax.jit(root)(-1.0)
        error.throw()

    **Works.** Look at the error before going on, or pass what the check wants:

        error, y = jax.jit(root)(4.0)
        error.throw()                   # nothing happens
    """

    __module__ = _PUBLIC_MODULE


class ShapeError(TypeError, ValueError):
    """Shapes do not fit together.

    **Why.** NumPy raises ValueError for shapes that do not fit, JAX sometimes ValueError
    and sometimes TypeError.  This error is both, so that programs written for either
    catch it.  The message names the shapes and what was probably meant.

    **Fails.**

        x = jnp.ones((3, 4))
        bias = jnp.ones(3)
        x + bias                    # 4 against 3 along the last axis

    **Works.**

        x + bias[:, None]           # shape (3, 1) goes along axis 0
    """

    __module__ = _PUBLIC_MODULE


class TransferGuardError(JaxRuntimeError):
    """Data would go between the host and a device, or between devices, unasked.

    **Why.** A copy between the host and a device takes time, and reading a result makes
    Python wait for the device. `jax.transfer_guard("disallow")` makes an error of each that
    the program does not ask for by name, with `jax.device_put` or `jax.device_get`. The
    message names the line, the bytes and what caused it. Numbers are never guarded.

    **Fails.**

        data = numpy.ones(1000, "float32")
        with jax.transfer_guard("disallow"):
            jnp.sum(data)               # copies the data to the device, each time

    **Works.**

        with jax.transfer_guard("disallow"):
            x = jax.device_put(data)
            total = jax.device_get(jnp.sum(x))
    """

    __module__ = _PUBLIC_MODULE


class DeletedArrayError(JaxRuntimeError):
    """An array was used after its memory had been given away.

    **Why.** The array was donated to a function (`donate_argnums`), which may write its
    result over it, or `x.delete()` was called.

    **Fails.**

        step = jax.jit(update, donate_argnums=0)
        new = step(state)
        state.sum()                     # its memory holds `new` now

    **Works.** Forget the old name as the new value arrives:

        state = step(state)
        state.sum()

    Or keep a copy: `kept = jnp.copy(state)` before the call.
    """

    __module__ = _PUBLIC_MODULE


class OutOfMemoryError(JaxRuntimeError, MemoryError):
    """A device has no room for an array.

    **Why.** The arrays that are alive, with the one that was asked for, exceed the
    device's memory or the limit set for it (`jax.set_memory_limit`).  Before this error,
    recorded work was finished, garbage collected and free memory given back.  The
    message names the largest arrays alive, the lines that made them and the variables
    that hold them; `error.report` has the same as data.  All arrays are as they were,
    and what could not be computed can be asked for again.

    **Fails.**

        parts = []
        for i in range(1000):
            parts.append(jnp.ones((10000, 10000)) * i)      # 400 MB each, all kept
        total = sum(part.sum() for part in parts)

    **Works.** Let go of what is no longer needed:

        total = 0
        for i in range(1000):
            total += (jnp.ones((10000, 10000)) * i).sum()

    `see.memory()` shows what holds memory, by line.
    """

    __module__ = _PUBLIC_MODULE

    report: Any = None  # what the message says, as data

    def __init__(self, message: str = "", asked: Any = None) -> None:
        super().__init__(message)
        self.asked = asked  # the runtime's facts, until the words are found

    # The words cost a look through all objects, so they are found when the error
    # reaches the user; `wiring` says by whom.
    describe: ClassVar[Callable[[OutOfMemoryError], None] | None] = None

    def tell_late(self) -> None:
        """Finds the words; called where the error leaves the library."""
        if self.asked is None or OutOfMemoryError.describe is None:
            return
        OutOfMemoryError.describe(self)
        self.asked = None


class InconclusiveDimensionOperation(Exception):
    """Whether two symbolic dimensions compare as asked cannot be decided for all sizes.

    **Why.** A dimension that is a symbol stands for every size at once. `b >= 1` holds for
    all of them, `b >= 2` for some. Shapes of traced functions are numbers here, and no
    function of the library raises this error; it exists for programs that catch it.

    **Fails.** In a function that is traced for a batch of unknown size:

        if x.shape[0] >= 2:
            x = x[:2]

    **Works.** Trace the function for each size, as `jit` does, or pad to a known one.
    """

    __module__ = _PUBLIC_MODULE


class CopyError(JaxRuntimeError):
    """An update would copy its array, under `no_copies`.

    **Why.** `x.at[i].set(v)` changes the memory of `x` in place if nobody else can see
    it. Another variable, a NumPy view, or a later line that reads the old value makes a
    copy necessary. The message names the line of the update and who holds the array.
    Nothing has been changed or lost: let go of the array, and the update works.

    **Fails.**

        b = x
        with tetrad.no_copies():
            x = x.at[0].set(1.0)               # `b` still holds the old array

    **Works.** Nobody else holds it:

        del b
        with tetrad.no_copies():
            x = x.at[0].set(1.0)
    """

    __module__ = _PUBLIC_MODULE


class TooManyCompilesError(JaxRuntimeError):
    """A function under `jit(f, max_compiles=n)` would be compiled once more than that.

    **Why.** A function is compiled anew for each combination of structures, shapes,
    dtypes and static values. Whoever states how many there are wants to know when one
    more turns up: usually an argument changes its shape or its type from call to call.
    The message lists what changed each time.

    **Fails.**

        step = jax.jit(lambda x: x.sum(), max_compiles=1)
        for n in range(3):
            step(jnp.ones(n + 1))              # another shape each time

    **Works.** The same shape in every call:

        for n in range(3):
            step(jnp.where(jnp.arange(3) <= n, 1.0, 0.0))
    """

    __module__ = _PUBLIC_MODULE
