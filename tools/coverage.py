"""Which names of JAX exist here: of those that programs use, and of whole modules.

    python tools/coverage.py [names.json] [--first 500] [--write docs/coverage.md]

In: a JSON file with a list `breadth` of names, the most used first. An entry is a name,
or a list of a name and how often it is used. `tools/names.json` says how often public
libraries and programs use each name. Out: names that are here, that are missing, and that
are here but raise NotImplementedError when they are used, by module and by weight of use.
Where JAX can be imported, the public names of its modules are compared as well; `--write`
makes the page for users, and needs JAX for it.

Read `look_up`, `Count`, then the reports.
"""

from __future__ import annotations

import argparse
import collections
import dataclasses
import importlib
import json
import sys
import types
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
NAMES = ROOT / "tools" / "names.json"

# Modules that people think of as whole; "*" stands for the modules below.
MODULES = """
numpy numpy.linalg numpy.fft lax lax.linalg nn nn.initializers random
scipy.special scipy.linalg scipy.stats.* scipy.signal scipy.ndimage scipy.optimize
scipy.fft scipy.integrate scipy.interpolate scipy.cluster.vq scipy.sparse.linalg
scipy.spatial.transform
tree tree_util image ops dtypes typing errors flatten_util dlpack api_util
custom_batching custom_derivatives debug ad_checkpoint sharding stages monitoring
"""

# What is not here, by prefix, and what to write instead. The longest prefix counts.
INSTEAD = {
    "jax.experimental.sparse": "`sparse.BCOO`, or dense arrays",
    "jax.experimental.pallas": "plain array code: kernels are made by fusing it",
    "jax.experimental.colocated_python": "`tetrad.experimental.io_callback`",
    "jax.experimental.hijax": "`tetrad.extend.core.Primitive` or `custom_vjp`",
    "jax.export": "`jit(f).lower(...)` for looking; nothing yet for keeping",
    "jax.ffi": "`tetrad.pure_callback` calls Python",
    "jax.interpreters.mlir": "`mlir.lower_fun`; there is no builder of MLIR",
    "jax.extend.mlir": "`mlir.lower_fun`; there is no builder of MLIR",
    "jax.new_ref": "values that a loop carries",
    "jax.Ref": "values that a loop carries",
    "jax.ref": "values that a loop carries",
    "jax._src": "public names; private ones of JAX may change at any time",
}


@dataclasses.dataclass
class Found:
    """What became of one name."""

    name: str
    weight: int
    state: str  # "here", "refuses" or "missing"
    says: str = ""  # what a name that refuses says

    @property
    def module(self) -> str:
        return self.name.rpartition(".")[0]


MISSING = object()


def look_up(name: str) -> Any:
    """The object that is called `jax.<...>` in JAX, here; MISSING if there is none."""
    parts = name.split(".")[1:]
    if parts[0] == "_src":  # private names of JAX are answered apart
        parts[0] = "_jax_src"
    for end in range(len(parts), -1, -1):
        path = ".".join(["tetrad", *parts[:end]])
        try:
            found: Any = importlib.import_module(path)
        except ImportError:
            continue
        for part in parts[end:]:
            try:
                found = getattr(found, part)
            except AttributeError:
                break
        else:
            return found
    return MISSING


def find(name: str, weight: int) -> Found:
    found = look_up(name)
    if found is MISSING:
        return Found(name, weight, "missing", instead_of(name))
    refusal = getattr(found, "__refuses__", None)
    if isinstance(refusal, str):
        return Found(name, weight, "refuses", refusal)
    return Found(name, weight, "here")


def instead_of(name: str) -> str:
    fitting = [prefix for prefix in INSTEAD if name.startswith(prefix)]
    return INSTEAD[max(fitting, key=len)] if fitting else ""


def read(path: Path) -> list[tuple[str, int]]:
    """The names with weights, the most used first; 1 where no weight is given."""
    rows = json.loads(path.read_text(encoding="utf-8"))["breadth"]
    return [(row, 1) if isinstance(row, str) else (row[0], row[1]) for row in rows]


@dataclasses.dataclass
class Count:
    """How many names are here, and what share of all uses they have."""

    here: int = 0
    refuses: int = 0
    missing: int = 0
    used: int = 0
    all_uses: int = 0

    def add(self, found: Found) -> None:
        setattr(self, found.state, getattr(self, found.state) + 1)
        self.all_uses += found.weight
        if found.state == "here":
            self.used += found.weight

    @property
    def share(self) -> str:
        return f"{100 * self.used / max(1, self.all_uses):.1f} %"


def count(found: list[Found]) -> Count:
    total = Count()
    for one in found:
        total.add(one)
    return total


def by_module(found: list[Found]) -> dict[str, Count]:
    modules: dict[str, Count] = collections.defaultdict(Count)
    for one in found:
        modules[one.module].add(one)
    return dict(sorted(modules.items(), key=lambda item: -item[1].all_uses))


# ------------------------------------------------------------------------ whole modules


def public_names(module: types.ModuleType) -> list[str]:
    """What a module offers: neither private names nor modules nor what is deprecated."""
    names = []
    for name in dir(module):
        if name.startswith("_") or name in (
            "annotations",
            "Any",
            "TYPE_CHECKING",
            "Union",
        ):
            continue
        value = getattr(module, name)
        if isinstance(value, types.ModuleType):
            continue
        names.append(name)
    return names


def whole_modules() -> dict[str, tuple[int, list[str]]] | None:
    """For each module: how many public names JAX has, and which of them lack here."""
    try:
        importlib.import_module("jax")
    except ImportError:
        return None
    table = {}
    for path in _expanded():
        module = importlib.import_module(f"jax.{path}")
        names = public_names(module)
        lack = [n for n in names if look_up(f"jax.{path}.{n}") is MISSING]
        table[path] = (len(names), lack)
    return table


def _expanded() -> list[str]:
    paths = []
    for path in MODULES.split():
        if not path.endswith(".*"):
            paths.append(path)
            continue
        base = path[:-2]
        module = importlib.import_module(f"jax.{base}")
        paths.append(base)
        paths += [
            f"{base}.{name}"
            for name in sorted(vars(module))
            if isinstance(getattr(module, name), types.ModuleType)
            and not name.startswith("_")
        ]
    return paths


# ------------------------------------------------------------------------------- reports


def report(found: list[Found], first: int) -> str:
    head = found[:first]
    total = count(head)
    lines = [
        f"{total.here} of the first {len(head)} names are here,"
        f" {total.refuses} refuse, {total.missing} are missing;"
        f" those here are {total.share} of all uses",
        "",
        f"{'module':42s} {'here':>5s} {'refuse':>6s} {'missing':>7s} {'of uses':>8s}",
    ]
    for module, one in by_module(head).items():
        lines.append(
            f"{module:42s} {one.here:5d} {one.refuses:6d} {one.missing:7d}"
            f" {one.share:>8s}"
        )
    lines += ["", "not here:"]
    lines += [
        f"  {position:4d} {one.state:8s} {one.name} ({one.weight})"
        for position, one in enumerate(head)
        if one.state != "here"
    ]
    return "\n".join(lines)


def report_modules(table: dict[str, tuple[int, list[str]]]) -> str:
    lines = ["", f"{'module of JAX':30s} {'names':>6s} {'missing':>8s}"]
    for path, (size, lack) in table.items():
        lines.append(f"{path:30s} {size:6d} {len(lack):8d}  {' '.join(lack)}")
    return "\n".join(lines)


PAGE = """\
# Which names of JAX exist

This page is made by `python tools/coverage.py --write docs/coverage.md`, in an
environment that has JAX {version} as well. It counts names; what JAX's own tests say about
what stands behind them is in [conformance.md](conformance.md), and where results differ on
purpose in [differences.md](differences.md).

## Names that programs use

`tools/names.json` ranks {names} names of JAX by how many of 45 libraries and 23
repositories of programs use them.

| the most used | are here | exist, and say what to write instead | are missing | uses that are covered |
|---:|---:|---:|---:|---:|
{heads}

By module, of the first {first}:

| module | here | refuse | missing | uses that are covered |
|---|---:|---:|---:|---:|
{modules}

## What is not here, and what to use instead

Of the first {listed} names, in the order of their use:

| name | | instead |
|---|---|---|
{absent}

## Whole modules

Public names of modules of JAX {version}, and which of them have no counterpart.

| module | names | missing | which |
|---|---:|---:|---|
{whole}
"""


def page(found: list[Found], first: int, listed: int) -> str:
    table = whole_modules()
    if table is None:
        sys.exit("coverage.py --write compares with JAX, which is not installed here")
    heads = []
    for size in (100, 200, 300, first, 700, len(found)):
        one = count(found[:size])
        heads.append(
            f"| {size} | {one.here} | {one.refuses} | {one.missing} | {one.share} |"
        )
    modules = [
        f"| `{module}` | {one.here} | {one.refuses} | {one.missing} | {one.share} |"
        for module, one in by_module(found[:first]).items()
    ]
    absent = [
        f"| `{one.name}` | {one.state} | {one.says} |"
        for one in found[:listed]
        if one.state != "here"
    ]
    whole = [
        f"| `{path}` | {size} | {len(lack)} | {', '.join(f'`{n}`' for n in lack)} |"
        for path, (size, lack) in table.items()
    ]
    return PAGE.format(
        version=importlib.import_module("jax").__version__,
        names=len(found),
        first=first,
        listed=listed,
        heads="\n".join(heads),
        modules="\n".join(modules),
        absent="\n".join(absent),
        whole="\n".join(whole),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("names", nargs="?", type=Path, default=NAMES)
    parser.add_argument("--first", type=int, default=500, help="how many names count")
    parser.add_argument("--listed", type=int, default=700, help="names on the page")
    parser.add_argument("--write", type=Path, help="make the page for users")
    options = parser.parse_args()
    found = [find(name, weight) for name, weight in read(options.names)]
    if options.write is not None:
        text = page(found, options.first, options.listed)
        options.write.write_text(text, encoding="utf-8")
        return
    print(report(found, options.first))
    table = whole_modules()
    if table is not None:
        print(report_modules(table))


if __name__ == "__main__":
    main()
