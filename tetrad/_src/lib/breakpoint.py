"""`debug.breakpoint`: a small debugger in the middle of a program, with its values.

In: the frames of the Python code that calls it, taken when that code is traced. The
traced values among their variables are operands of the call, so that the debugger, when
the program reaches it, shows what they are there; everything else is shown as it was
when the code was traced. Out: commands are read and answered until one says to
go on.

Read `breakpoint_`, `Frame`, `Debugger`.
"""

from __future__ import annotations

import cmd
import inspect
import linecache
import pprint
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tetrad._src.core.bind import STATE, Trace, Tracer
from tetrad._src.lib.debug import debug_callback
from tetrad._src.util import frames, tree

CONTEXT = 5  # lines shown before and after the current one


class Unknown:
    """Stands for the value of a variable that the debugger cannot show."""

    __slots__ = ("why",)

    def __init__(self, why: str) -> None:
        self.why = why

    def __repr__(self) -> str:
        return f"<{self.why}>"


class Fixed:
    """A leaf that is no traced value: it is what it was when the code was traced."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


def _unwrapped(leaf: Any) -> Any:
    return leaf.value if type(leaf) is Fixed else leaf


class Frame:
    """A place in the code: a file and a line, and what its names mean there."""

    __slots__ = ("file", "line", "name", "begin", "end", "names", "globals")

    def __init__(self, frame: types.FrameType) -> None:
        code = frame.f_code
        self.file = code.co_filename
        self.line = frame.f_lineno
        self.name = code.co_name
        self.begin, self.end = _lines_of(frame)
        self.names = {name: _shown(value) for name, value in frame.f_locals.items()}
        self.globals = frame.f_globals

    def with_names(self, names: dict[str, Any]) -> Frame:
        """The same place with the values that its names have in a run."""
        made = Frame.__new__(Frame)
        for slot in Frame.__slots__:
            setattr(made, slot, getattr(self, slot))
        made.names = names
        return made

    def __str__(self) -> str:
        return f"{self.file}({self.line})"

    def source(self) -> list[str]:
        """The lines of the function around the current one, which an arrow marks."""
        lines = []
        for number in range(self.line - CONTEXT, self.line + CONTEXT + 1):
            if self.begin <= number < self.end:
                text = linecache.getline(self.file, number, self.globals).rstrip()
                mark = "->  " if number == self.line else "    "
                lines.append(f"{mark}{text}".rstrip())
        return lines


def _lines_of(frame: types.FrameType) -> tuple[int, int]:
    """Where the source of a function begins, and the first line behind it."""
    try:
        lines, first = inspect.getsourcelines(frame)
    except (OSError, TypeError):  # there is no source
        return 0, 0
    return max(first, 1), max(first, 1) + len(lines)


def _shown(value: Any) -> Any:
    """A value of a variable as a tree of traced values and `Fixed` leaves."""
    try:
        leaves, treedef = tree.flatten(value)
        kept = [leaf if isinstance(leaf, Tracer) else Fixed(leaf) for leaf in leaves]
        shown = treedef.unflatten(kept)
    except Exception:  # a container that cannot be taken apart, such as unsorted keys
        return Fixed(Unknown("cant_flatten"))
    if all([_usable(leaf) for leaf in leaves]):
        return shown
    return Fixed(Unknown("a traced value that is out of reach here"))


def _usable(leaf: Any) -> bool:
    """Whether a leaf is no traced value, or one of the current transformations."""
    if not isinstance(leaf, Tracer):
        return True
    trace: Trace | None = STATE.trace
    while trace is not None:
        if trace is leaf._trace:
            return True
        trace = trace.parent
    return False


class Debugger(cmd.Cmd):
    """Reads commands and answers them."""

    prompt = "(jdb) "

    def __init__(self, stack: Sequence[Frame], stdin: Any, stdout: Any) -> None:
        super().__init__(stdin=stdin, stdout=stdout)
        self.use_rawinput = stdin is None
        self.stack = stack
        self.at = 0

    def run(self) -> None:
        self.say("Entering jdb:")
        self.cmdloop()

    def say(self, line: str) -> None:
        print(line, file=self.stdout)

    @property
    def frame(self) -> Frame:
        return self.stack[self.at]

    def emptyline(self) -> bool:
        return False

    def default(self, line: str) -> None:
        """What is no command is an expression."""
        self.show(line, repr)

    def show(self, expression: str, form: Callable[[Any], str]) -> None:
        try:
            names = {**self.frame.globals, **self.frame.names}
            self.say(form(eval(expression, names)))
        except Exception as error:
            self.say(f"*** {type(error).__name__}: {error}")

    def do_p(self, expression: str) -> None:
        """p expression: prints its value."""
        self.show(expression, repr)

    def do_pp(self, expression: str) -> None:
        """pp expression: prints its value prettily."""
        self.show(expression, pprint.pformat)

    def do_list(self, _: str) -> None:
        """l: shows the code around the current line."""
        self.say(f"> {self.frame}")
        for line in [*self.frame.source(), ""]:
            self.say(line)

    do_l = do_list

    def do_args(self, _: str) -> None:
        """a: shows the names of the current frame and their values."""
        for name, value in self.frame.names.items():
            self.say(f"{name} = {value!r}")

    do_a = do_args

    def do_where(self, _: str) -> None:
        """w or bt: shows the frames, the innermost one last."""
        self.say("Traceback:")
        for frame in reversed(self.stack):
            self.say(f'  File "{frame.file}", line {frame.line}, in {frame.name}')
            text = linecache.getline(frame.file, frame.line, frame.globals).strip()
            if text:
                self.say(f"    {text}")

    do_w = do_bt = do_where

    def do_up(self, _: str) -> None:
        """u: goes to the frame that called this one."""
        if self.at + 1 == len(self.stack):
            self.say("At topmost frame.")
            return
        self.at += 1
        self.do_list("")

    do_u = do_up

    def do_down(self, _: str) -> None:
        """d: goes back to the frame that this one called."""
        if self.at == 0:
            self.say("At bottommost frame.")
            return
        self.at -= 1
        self.do_list("")

    do_d = do_down

    def do_continue(self, _: str) -> bool:
        """c: lets the program go on."""
        return True

    do_c = do_cont = do_continue

    def do_quit(self, _: str) -> NoReturn:
        """q: ends the program with SystemExit."""
        sys.exit(0)

    do_q = do_exit = do_EOF = do_quit


class Session:
    """What a program calls: rebuilds the frames from values, and starts a debugger."""

    __slots__ = ("stack", "stdin", "stdout")

    def __init__(self, stack: Sequence[Frame], stdin: Any, stdout: Any) -> None:
        self.stack = stack
        self.stdin = stdin
        self.stdout = stdout

    def __call__(self, *names: dict[str, Any]) -> None:
        stack = [
            frame.with_names(tree.map(_unwrapped, own))
            for frame, own in zip(self.stack, names)
        ]
        Debugger(stack, self.stdin, self.stdout).run()


def breakpoint_(
    *,
    backend: str | None = None,
    filter_frames: bool = True,
    num_frames: int | None = None,
    ordered: bool = False,
    token: Any = None,
    stdin: Any = None,
    stdout: Any = None,
) -> None:
    """Stops the program here and reads commands, also in compiled code.

    The debugger shows the variables of the functions that call it, with the values that
    the arrays have in this run: `p x` prints one, `l` shows the code, `u` and `d` go to
    the caller and back, `c` goes on, `q` ends the program, `help` lists the rest.

    Args:
      backend: None or "cli": commands are read from the terminal.
      filter_frames: whether to leave out this library's own frames.
      num_frames: how many of the calling functions can be looked at; None: all.
      ordered: whether it keeps its place among other ordered calls.
      token: must be None.
      stdin: where commands are read, by default from the terminal.
      stdout: where answers go, by default to the terminal.

    Raises SystemExit, when the program runs, after `q` or at the end of the input.

    >>> import io, sys, tetrad as jax
    >>> @jax.jit
    ... def f(x):
    ...     y = 2 * x
    ...     jax.debug.breakpoint(stdin=io.StringIO("p y\\nc\\n"), stdout=sys.stdout)
    ...     return y + 1
    >>> z = f(jax.numpy.arange(3))
    Entering jdb:
    (jdb) Array([0, 2, 4], dtype=int32)
    (jdb)
    """
    if backend not in (None, "cli"):
        raise NotImplementedError(
            f"debug.breakpoint(backend={backend!r}) is not available: commands are read"
            " from the terminal. Leave it out"
        )
    if token is not None:
        raise NotImplementedError(
            "debug.breakpoint(token=...) is not available; ordered=True keeps the"
            " breakpoint in its place among other ordered calls"
        )
    stack: list[Frame] = []
    frame: types.FrameType | None = sys._getframe(1)
    while frame is not None and (num_frames is None or len(stack) < num_frames):
        if not (filter_frames and frames.is_ours(frame.f_code.co_filename)):
            stack.append(Frame(frame))
        frame = frame.f_back
    names = [own.names for own in stack]
    for own in stack:
        own.names = {}  # traced values, which must not be kept
    debug_callback(Session(stack, stdin, stdout), *names, ordered=ordered)
