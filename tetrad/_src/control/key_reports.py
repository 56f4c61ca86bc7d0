"""What a user is told about a key that is used twice: the words, and how they get there.

In: a `Reuse`. Out: a `KeyReuseWarning` at the user's line, once for each place, or a
`KeyReuseError`, as `key_check` says. The message shows where the key was made, first used
and used again, and the line to write, with the user's own name for the key where the
source can be read.

Read `report`, then `message`, then the pieces of advice.
"""

from __future__ import annotations

import ast
import sys
import warnings
from types import CodeType
from typing import Any, NamedTuple

from tetrad._src.core.bind import Value
from tetrad._src.ops.keys import Family, Reuse, Use
from tetrad._src.util import frames, source
from tetrad._src.util.config import config
from tetrad._src.util.errors import KeyReuseError, KeyReuseWarning
from tetrad._src.util.frames import Place

LONGEST_LINE = 72

# Places that were warned of; the code objects stay alive, so that no other gets their id.
_told: dict[tuple[str, int, int], CodeType] = {}


def report(reuse: Reuse) -> None:
    """Raises, or warns once for each place where a key is used again."""
    place = reuse.again.inside or reuse.again.place
    if config.key_check == "error" and reuse.kind != "seed":
        raise KeyReuseError(message(reuse))
    if place is None:
        known = reuse.kind, 0, 0
        code: Any = None
    else:
        code, lasti = place
        known = reuse.kind, id(code), lasti
    if known in _told:
        return
    _told[known] = code
    text = message(reuse)
    if reuse.again.place is None:
        frames.warn(text, KeyReuseWarning)
        return
    line = frames.line_of(reuse.again.place)
    warnings.warn_explicit(text, KeyReuseWarning, line.file, line.line)


# ------------------------------------------------------------------------------- messages


def message(reuse: Reuse) -> str:
    """The whole text."""
    name = _name(reuse)
    lines = [_headline(reuse, name), *_rows(reuse), *_advice(reuse, name)]
    lines.append(
        "If you want the same numbers again, say so with jax.random.clone(key);"
        ' jax.key_check("off") turns this check off.'
    )
    return "\n".join(lines)


def _headline(reuse: Reuse, name: str) -> str:
    key = f"the random key `{name}`" if name else "a random key"
    if reuse.kind == "seed":
        seed = reuse.note[0].data
        return f"two keys are made from one seed, {seed}: they give the same random numbers."
    if reuse.kind == "lanes":
        return f"{key} is not mapped by vmap: every lane draws the same random numbers."
    if reuse.kind == "loop":
        return (
            f"{key} stays the same in a loop: every step draws the same random numbers."
        )
    if _splits(reuse.again) and _splits(reuse.earlier):
        return f"{key} is split twice: the new keys are the same keys again."
    if _splits(reuse.earlier):
        return f"{key} is used after it was split: the results are correlated."
    if _splits(reuse.again):
        return f"{key} is split after it was used: the results are correlated."
    if reuse.earlier.op is reuse.again.op:
        return f"{key} is used twice: it gives the same random numbers again."
    return f"{key} is used twice: the two results are correlated."


def _splits(use: Use) -> bool:
    return use.made is not None and use.made.how == "split"


def _rows(reuse: Reuse) -> list[str]:
    """Where the key was made, first used and used again."""
    family: Family = reuse.note[0]
    rows: list[tuple[str, Place | str | None]] = []
    if reuse.origin:
        rows.append(("given", reuse.origin))
    if family.place is not None:
        words = {
            "array": "came from",
            "fold": "folded",
            "words": "made",
            "clone": "cloned",
        }
        rows.append((words.get(family.how, "made"), family.place))
    if reuse.kind == "seed":
        rows = [("first made", reuse.earlier.place), ("made again", reuse.again.place)]
    elif reuse.kind == "lanes":
        rows += _places("used", reuse.again)
    elif reuse.kind == "loop":
        rows += _places("used in each step", reuse.again)
    else:
        rows += _places(
            "first split" if _splits(reuse.earlier) else "first used", reuse.earlier
        )
        rows += _places(
            "split again" if _splits(reuse.again) else "used again", reuse.again
        )
        owner = _owner(reuse)
        if owner is not None and owner[1][0] is not (reuse.again.place or (None,))[0]:
            rows.append(("  called at", owner[1]))
    width = max([len(word) for word, _ in rows])
    shown = [(word, *_shown(place)) for word, place in rows]
    wide = max([len(line) for _, line, _ in shown])
    return [
        f"    {w:{width}}  {line:{wide}}  {text}".rstrip() for w, line, text in shown
    ]


def _places(word: str, use: Use) -> list[tuple[str, Place | str | None]]:
    rows: list[tuple[str, Place | str | None]] = [(word, use.place)]
    if use.inside is not None and use.inside != use.place:
        rows.append(("  inside, at", use.inside))
    return rows


def _shown(place: Place | str | None) -> tuple[str, str]:
    """The line of a place, and its text."""
    if isinstance(place, str):
        return place, ""
    if place is None:
        return "an unknown line", ""
    line = frames.line_of(place)
    text = frames.source_line(line.file, line.line)
    if len(text) > LONGEST_LINE:
        text = text[: LONGEST_LINE - 1] + "…"
    return str(line), text


# ---------------------------------------------------------------------------------- names


class Call(NamedTuple):
    """A call that takes a key, as the user wrote it."""

    key: str
    prefix: str  # of the module: `jax.random`
    node: ast.Call
    statement: ast.stmt


def call_at(place: Place | None) -> Call | None:
    """The call at a place, and its key: the first argument, or the one named `key`."""
    found = source.node_at(place) if place is not None else None
    if found is None or not isinstance(found[0], ast.Call):
        return None
    node: ast.Call = found[0]
    around = found[1]
    named = [k.value for k in node.keywords if k.arg in ("key", "rng")]
    first = node.args[:1] or named
    if not first or isinstance(first[0], ast.Starred):
        return None
    statement: Any = node
    while not isinstance(statement, ast.stmt):
        statement = around[statement]
    func = node.func
    prefix = (
        ast.unparse(func.value) if isinstance(func, ast.Attribute) else "jax.random"
    )
    if prefix.split(".")[-1] not in ("random", "jr", "jrandom", "jrand"):
        prefix = "jax.random"
    return Call(ast.unparse(first[0]), prefix, node, statement)


def _name(reuse: Reuse) -> str:
    """The user's name of the key; empty if it cannot be told."""
    owner = _owner(reuse)
    if owner is not None:
        return owner[0]
    for use in (reuse.again, reuse.earlier):
        call = call_at(use.inside or use.place)
        if call is not None and len(call.key) <= 40:
            return call.key
    return ""


def _owner(reuse: Reuse) -> tuple[str, Place] | None:
    """The name of the key in the outermost function of the user that holds it in a
    variable, and the place of that function: there it should be split.
    """
    if reuse.kind != "twice" or not isinstance(reuse.keys, Value):
        return None
    if reuse.earlier.place != reuse.again.place:
        return None
    note = reuse.note
    found: tuple[str, Place] | None = None
    frame: Any = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        if not frames.is_ours(code.co_filename):
            for name, value in frame.f_locals.items():
                held = (
                    getattr(value, "note", None) if isinstance(value, Value) else None
                )
                if held is not None and held[0] is note[0] and _equal(held[1], note[1]):
                    found = name, (code, frame.f_lasti)
                    break
        frame = frame.f_back
    return found


def _equal(one: Any, other: Any) -> bool:
    return type(one) is int and type(other) is int and one == other


# --------------------------------------------------------------------------------- advice


def _advice(reuse: Reuse, name: str) -> list[str]:
    key = name or "key"
    if reuse.kind == "seed":
        return ["Make one key and split it: key, subkey = jax.random.split(key)."]
    call = call_at(reuse.again.inside or reuse.again.place)
    prefix = call.prefix if call is not None else "jax.random"
    if reuse.kind == "lanes":
        return [
            "Give each lane a key of its own:",
            f"    keys = {prefix}.split({key}, n)    # n lanes, mapped with in_axes=0",
        ]
    new = "subkey" if key != "subkey" else "newkey"
    split = f"{key}, {new} = {prefix}.split({key})"
    if reuse.kind == "loop":
        return [
            "Carry the key from step to step and split it there:",
            f"    {split}",
            f"or fold the number of the step into it: {prefix}.fold_in({key}, i).",
        ]
    owner = _owner(reuse)
    earlier = call_at(reuse.earlier.inside or reuse.earlier.place)
    if owner is None and _splits(reuse.earlier) and earlier is not None:
        longer = _longer_split(
            earlier, _targets(call) if _splits(reuse.again) else [new]
        )
        if longer is not None:
            return ["Make all keys where it is split first:", f"    {longer}"]
    if not key.replace(".", "_").isidentifier():
        return [
            "Split it before its first use, into a key for each use:",
            f"    {new}1, {new}2 = {prefix}.split({key})",
        ]
    first = owner is None and _splits(reuse.again) and not _splits(reuse.earlier)
    example = earlier if first else call_at(owner[1]) if owner is not None else call
    advice = ["Split the key before each use:", f"    {split}"]
    text = _with_key(example, key, new) if example is not None else None
    return [*advice, f"    {text}" if text else f"and use `{new}`."]


def _targets(call: Call | None) -> list[str]:
    """The names that the user's `k1, k2 = split(…)` binds."""
    statement = call.statement if call is not None else None
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Tuple):
            return [ast.unparse(element) for element in target.elts]
    return []


def _longer_split(call: Call, more: list[str]) -> str | None:
    """`k1, k2, subkey = split(key, 3)` for the user's `k1, k2 = split(key)`."""
    names = _targets(call)
    if not names or not more or getattr(call.statement, "value", None) is not call.node:
        return None
    names += [name for name in more if name not in names]
    called = ast.unparse(call.node.func)
    return f"{', '.join(names)} = {called}({call.key}, {len(names)})"


class _Renamed(ast.NodeTransformer):
    def __init__(self, key: str, new: str) -> None:
        self.key = key
        self.new = new

    def generic_visit(self, node: ast.AST) -> ast.AST:
        if isinstance(node, ast.expr) and ast.unparse(node) == self.key:
            return ast.Name(self.new)
        return super().generic_visit(node)


def _with_key(call: Call, key: str, new: str) -> str | None:
    """The user's statement with another key in the call."""
    statement = call.statement
    if not isinstance(statement, (ast.Assign, ast.Expr, ast.Return, ast.AugAssign)):
        return None
    old = ast.unparse(statement)
    before = ast.unparse(call.node)
    if old.count(before) != 1:
        return None
    copy = ast.parse(before, mode="eval").body
    after = ast.unparse(_Renamed(key, new).visit(copy))
    text = old.replace(before, after)
    return (
        text if text != old and len(text) <= LONGEST_LINE and "\n" not in text else None
    )
