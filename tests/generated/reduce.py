"""A failing program made small: what can go while it fails in the same way."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterator

from generated.program import Def, Do, Let, Program, Statement


def words(statements: tuple[Statement, ...], more: str) -> set[str]:
    text = more
    for statement in statements:
        text += "\n" + "\n".join(statement.lines(""))
    return set(re.findall(r"\w+", text))


def pruned(body: tuple[Statement, ...], result: str) -> tuple[Statement, ...]:
    """Without the statements whose names nobody reads."""
    kept: list[Statement] = []
    for statement in reversed(body):
        read = words(tuple(kept), result)
        match statement:
            case Let(names, _) if not read & set(names):
                continue
            case Def(name, _, inner, returned):
                if name not in read:
                    continue
                inner = pruned(inner, returned)
                statement = dataclasses.replace(statement, body=inner)
            case Do(line) if line.startswith("del ") and line[4:] not in read:
                continue
        kept.insert(0, statement)
    return tuple(kept)


def without_one(body: tuple[Statement, ...]) -> Iterator[tuple[Statement, ...]]:
    """Every way to leave out one statement, or one inside of a function."""
    for k, statement in enumerate(body):
        yield body[:k] + body[k + 1 :]
        if isinstance(statement, Def):
            for inner in without_one(statement.body):
                new = dataclasses.replace(statement, body=inner)
                yield (*body[:k], new, *body[k + 1 :])


def smaller(program: Program) -> Iterator[Program]:
    names = ", ".join(name for name, _, _ in program.results)
    body = pruned(program.body, names)
    if body != program.body:
        yield dataclasses.replace(program, body=body)
    for k in range(len(program.results)):
        results = program.results[:k] + program.results[k + 1 :]
        yield dataclasses.replace(program, results=results)
    for body in without_one(program.body):
        yield dataclasses.replace(program, body=body)
    read = words(program.body, names)
    for k, x in enumerate(program.inputs):
        if x.name not in read:
            inputs = program.inputs[:k] + program.inputs[k + 1 :]
            yield dataclasses.replace(program, inputs=inputs)
    if program.x64:
        yield dataclasses.replace(program, x64=False)


def symptom(check: Callable[[Program], object], program: Program) -> str | None:
    """How a check fails: the exception and the words of its message, without numbers."""
    try:
        check(program)
    except Exception as problem:
        words = re.sub(r"[-+]?\d+(\.\d+)?(e[-+]?\d+)?|\w+\d+", "", str(problem)).split()
        return f"{type(problem).__name__}: {' '.join(words[:6])}"
    return None


def reduced(
    program: Program, check: Callable[[Program], object], tries: int = 150
) -> Program:
    """A small program that fails the check as the given one does."""
    wanted = symptom(check, program)
    going = True
    while going:
        going = False
        for candidate in smaller(program):
            tries -= 1
            if tries < 0:
                return program
            if symptom(check, candidate) == wanted:
                program, going = candidate, True
                break
    return program
