"""The command line and the import hook: programs that say `import jax`, unmodified.

`install_as_jax()` puts a finder in front of Python's own. It answers for `jax` and
`jax.anything` with the module of tetrad of the same path, and for what tetrad lacks
with an ImportError that says so. `main` installs it and runs a script, a module or a
command like Python itself would. What else it may do around the program stands in
`options`: the reports that can be looked at enter themselves there.
"""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import runpy
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from types import ModuleType
from typing import Any, NamedTuple, NoReturn

FOLLOWED_VERSION = "0.10.2"  # the JAX release whose behaviour we follow
OURS = "tetrad"
THEIRS = "jax"
PRIVATE = "jax._src"  # names that libraries import although they are private

USAGE = """\
usage: python -m tetrad [options] script.py [arguments…]
       python -m tetrad [options] -m module [arguments…]
       python -m tetrad [options] -c "program" [arguments…]

Runs a Python program in which `import jax` means tetrad."""


class Option(NamedTuple):
    """Something that is done around a program, if the command line asks for it."""

    argument: str  # what its argument is called in the usage; empty if it has none
    words: str  # what it does
    around: Callable[[str], AbstractContextManager[Any]]  # ValueError: a bad argument
    alone: bool = False  # whether it can stand without a program


options: dict[str, Option] = {}


def usage() -> str:
    """The help of the command line."""
    rows = [(f"{name} {o.argument}".strip(), o.words) for name, o in options.items()]
    width = max([len(name) for name, _ in rows], default=0)
    told = [f"  {name.ljust(width)}  {words}" for name, words in rows]
    return "\n".join([USAGE, "", "options:", *told] if told else [USAGE])


class JaxFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `jax` and its submodules in tetrad."""

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname != THEIRS and not fullname.startswith(THEIRS + "."):
            return None
        ours = _ours(fullname)
        if not _exists(ours):
            raise ModuleNotFoundError(
                f"No module named '{fullname}' (tetrad has no {ours})", name=fullname
            )
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """The module object of tetrad itself: `jax.numpy is tetrad.numpy`."""
        ours = _ours(spec.name)
        module = importlib.import_module(ours)
        self._identity = (module, module.__spec__, module.__loader__)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Nothing to run; gives the module its own name back."""
        _, spec, loader = self._identity
        module.__spec__ = spec
        module.__loader__ = loader
        if spec is not None:
            module.__name__ = spec.name
            module.__package__ = spec.parent


def _ours(fullname: str) -> str:
    """The module that answers for a module of JAX; private ones have a place apart."""
    if fullname == PRIVATE or fullname.startswith(PRIVATE + "."):
        return f"{OURS}._jax_src{fullname[len(PRIVATE) :]}"
    return OURS + fullname[len(THEIRS) :]


def _exists(name: str) -> bool:
    if name in sys.modules:
        return True
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def install_as_jax() -> None:
    """Makes `import jax` mean tetrad in this process, for imports from now on."""
    loaded = sys.modules.get(THEIRS)
    if loaded is not None and loaded is not sys.modules.get(OURS):
        raise RuntimeError(
            "jax is already imported in this process; call tetrad.install_as_jax()"
            " before the first `import jax`"
        )
    if not any(isinstance(f, JaxFinder) for f in sys.meta_path):
        sys.meta_path.insert(0, JaxFinder())


def main(argv: Sequence[str] | None = None) -> None:
    """Runs a script, `-m module` or `-c program` with jax meaning tetrad."""
    arguments = list(sys.argv[1:] if argv is None else argv)
    if not arguments or arguments[0] in ("-h", "--help"):
        print(usage())
        sys.exit(0 if arguments else 2)
    install_as_jax()
    with ExitStack() as around:
        for option, argument in _taken(arguments):
            try:
                around.enter_context(option.around(argument))
            except ValueError as problem:
                _refuse(str(problem))
        # The names live until the reports around are written.
        names = _run(arguments) if arguments else {}
        around.close()
        del names


def _taken(arguments: list[str]) -> list[tuple[Option, str]]:
    """The options at the beginning, with their arguments; takes them off."""
    found = []
    while arguments and arguments[0].startswith("-"):
        name, equals, argument = arguments[0].partition("=")
        if name in ("-m", "-c"):
            break
        option = options.get(name)
        if option is None:
            _refuse(f"there is no option {name}")
        del arguments[0]
        if not option.argument and equals:
            _refuse(f"{name} takes no argument")
        if option.argument and not equals:
            if not arguments:
                _refuse(f"{name} needs an argument, {option.argument}")
            argument = arguments.pop(0)
        found.append((option, argument))
    if not arguments and not all([option.alone for option, _ in found]):
        _refuse("there is no program to run")
    return found


def _refuse(problem: str) -> NoReturn:
    print(f"{problem}\n\n{usage()}", file=sys.stderr)
    sys.exit(2)


def _run(arguments: Sequence[str]) -> dict[str, Any]:
    """Runs what the command line names; gives the names that it defined."""
    first = arguments[0]
    if first not in ("-m", "-c"):
        sys.argv = list(arguments)
        return runpy.run_path(first, run_name="__main__")
    if len(arguments) < 2:
        _refuse(f"{first} needs an argument")
    target, rest = arguments[1], arguments[2:]
    sys.path.insert(0, "")
    if first == "-m":
        sys.argv = [target, *rest]
        return runpy.run_module(target, run_name="__main__", alter_sys=True)
    sys.argv = ["-c", *rest]
    names: dict[str, Any] = {"__name__": "__main__"}
    exec(compile(target, "<string>", "exec"), names)
    return names
