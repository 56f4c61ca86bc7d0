"""What the user wrote, taken apart: for messages that speak in the user's own words.

In: a place, (code object, instruction offset). Out: pieces of source text, and for
conditions what to write instead. Everything here runs while an error is being made, so
it may be slow, and it gives None rather than fail where the source cannot be read.

Read `node_at` first, then `choice`, which rewrites a Python `if` as `jnp.where`.
"""

from __future__ import annotations

import ast
import linecache
from typing import Any

from tetrad._src.util.frames import Place, positions

LONGEST = 72  # characters that a quoted or rewritten expression may have

_Node = ast.AST
_Parents = dict[ast.AST, ast.AST]


# ------------------------------------------------------------------------- from places


class _File:
    """The syntax of a file: the outermost node of each span, and the node around each."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        self.nodes: dict[Any, _Node] = {}
        self.around: _Parents = {}
        try:
            tree = ast.parse("".join(lines))
        except (SyntaxError, ValueError, RecursionError):
            return
        for node in ast.walk(tree):
            for child in ast.iter_child_nodes(node):
                self.around[child] = node
            if isinstance(node, ast.Expr) or not isinstance(node, (ast.expr, ast.stmt)):
                continue
            first, last = node.lineno, node.end_lineno
            span = first, last, node.col_offset, node.end_col_offset
            self.nodes.setdefault(span, node)


# Some libraries try what raises (whether elements can be iterated over) a thousand times.
_files: dict[str, _File] = {}
_FILES = 8


def node_at(place: Place) -> tuple[_Node, _Parents] | None:
    """The syntax node that an instruction belongs to, and the nodes around all nodes."""
    span = positions(place)
    if None in span:
        return None
    name = place[0].co_filename
    lines = linecache.getlines(name)
    file = _files.get(name)
    if file is None or file.lines is not lines:
        file = _File(lines)
        while len(_files) >= _FILES:
            _files.pop(next(iter(_files)), None)
        _files[name] = file
    node = file.nodes.get(tuple(span))
    return None if node is None else (node, file.around)


# ------------------------------------------------------------------------- expressions


def _expression(text: str) -> _Node | None:
    """The syntax of a piece of source: an expression or an assignment."""
    try:
        statement = ast.parse(text).body[0]
    except (SyntaxError, ValueError, IndexError, RecursionError):
        return None
    return statement.value if isinstance(statement, ast.Expr) else statement


def operands(text: str, count: int) -> list[str] | None:
    """The `count` operands in the source of an operation or call.

    >>> operands("jnp.dot(weights, x)", 2)
    ['weights', 'x']
    >>> operands("total += step", 2)
    ['total', 'step']
    """
    node = _expression(text)
    found: list[_Node] = []
    if isinstance(node, ast.BinOp):
        found = [node.left, node.right]
    elif isinstance(node, ast.Compare) and len(node.ops) == 1:
        found = [node.left, node.comparators[0]]
    elif isinstance(node, ast.AugAssign):
        found = [node.target, node.value]
    elif isinstance(node, ast.UnaryOp):
        found = [node.operand]
    elif isinstance(node, ast.Call):
        found = list(node.args)
        if len(found) == count - 1 and isinstance(node.func, ast.Attribute):
            found.insert(0, node.func.value)
    if len(found) < count or any(isinstance(n, ast.Starred) for n in found[:count]):
        return None
    return [ast.unparse(n) for n in found[:count]]


_OPERATORS = {
    ast.Add: "add",
    ast.Sub: "sub",
    ast.Mult: "mul",
    ast.Div: "div",
    ast.Pow: "pow",
}


def is_call_of(text: str, name: str) -> bool:
    """Whether a piece of source is a call of `name`, or an operator of that name.

    >>> is_call_of("jnp.log(x - 1)", "log"), is_call_of("x / y", "div")
    (True, True)
    """
    node = _expression(text)
    if isinstance(node, (ast.BinOp, ast.AugAssign)):
        return _OPERATORS.get(type(node.op)) == name
    if isinstance(node, ast.Call):
        function = node.func
        return getattr(function, "attr", getattr(function, "id", "")) == name
    return False


def subscript(text: str) -> tuple[str, str] | None:
    """`x` and `i` of the source `x[i]`."""
    node = _expression(text)
    if not isinstance(node, ast.Subscript):
        return None
    return ast.unparse(node.value), ast.unparse(node.slice)


def iterated(place: Place) -> str | None:
    """What the `for` at `place` iterates over."""
    found = node_at(place)
    if found is None or not isinstance(found[0], (ast.For, ast.AsyncFor)):
        return None
    return ast.unparse(found[0].iter)


def parenthesised(place: Place) -> str | None:
    """`(x > 0) & (x < 2)` for `x > 0 & x < 2`, whose `&` at `place` binds first."""
    found = node_at(place)
    if found is None:
        return None
    node, around = found
    chain = around.get(node)
    if not isinstance(node, ast.BinOp) or not isinstance(chain, ast.Compare):
        return None
    symbol = {ast.BitAnd: "&", ast.BitOr: "|", ast.BitXor: "^"}.get(type(node.op))
    if symbol is None:
        return None
    sides = [chain.left, *chain.comparators]
    at = sides.index(node)
    left = _comparison([*sides[:at], node.left], chain.ops[:at])
    right = _comparison([node.right, *sides[at + 1 :]], chain.ops[at:])
    text = f"{left} {symbol} {right}"
    return text if len(text) <= LONGEST else None


def _comparison(sides: list[ast.expr], ops: list[ast.cmpop]) -> str:
    if not ops:
        return ast.unparse(sides[0])
    return f"({ast.unparse(ast.Compare(sides[0], ops, sides[1:]))})"


# -------------------------------------------------------------------------- conditions


def elementwise(node: _Node) -> str:
    """A condition with `&`, `|`, `~` in place of `and`, `or`, `not` and chains.

    >>> elementwise(ast.parse("0 < x < 1 and not y", mode="eval").body)
    '(0 < x) & (x < 1) & jnp.logical_not(y)'
    """
    if isinstance(node, ast.BoolOp):
        symbol = " & " if isinstance(node.op, ast.And) else " | "
        return symbol.join([_part(value, symbol) for value in node.values])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = elementwise(node.operand)
        compared = isinstance(node.operand, (ast.BoolOp, ast.Compare))
        return f"~({inner})" if compared else f"jnp.logical_not({inner})"
    if isinstance(node, ast.Compare) and len(node.ops) > 1:
        sides = [node.left, *node.comparators]
        parts = [
            ast.unparse(ast.Compare(a, [op], [b]))
            for a, op, b in zip(sides, node.ops, sides[1:])
        ]
        return " & ".join([f"({part})" for part in parts])
    return ast.unparse(node)


def _part(node: _Node, symbol: str) -> str:
    """One side of `&` or `|`, in parentheses where needed."""
    text = elementwise(node)
    chained = isinstance(node, ast.Compare) and len(node.ops) > 1
    if chained and symbol == " & ":
        return text
    if isinstance(node, (ast.BoolOp, ast.Compare, ast.BinOp, ast.IfExp)):
        return f"({text})"
    return text


class Condition:
    """A condition in the source: what it is, and what to write instead."""

    __slots__ = ("statement", "text", "instead")

    def __init__(self, statement: str, text: str, instead: str | None) -> None:
        self.statement = statement  # "if", "while", "assert" or ""
        self.text = text
        self.instead = instead


NO_CONDITION = Condition("", "", None)


_REDUCTIONS = {"any": "jnp.any", "all": "jnp.all", "sorted": "jnp.sort"}


def choice(place: Place) -> Condition:
    """What the condition evaluated at `place` is part of, and its rewrite if simple."""
    found = node_at(place)
    if found is None:
        return NO_CONDITION
    test, around = found
    if isinstance(test, (ast.If, ast.While, ast.Assert, ast.IfExp)):
        test = test.test  # Python counts `not` as part of the statement
    written = ast.unparse(test)
    outer = around.get(test)
    while isinstance(outer, (ast.BoolOp, ast.UnaryOp, ast.Compare)):
        test, outer = outer, around.get(outer)
    statement, text = "", None
    if isinstance(outer, ast.IfExp) and outer.test is test:
        statement = "if"
        text = _where(test, outer.body, outer.orelse)
    elif isinstance(outer, ast.If) and outer.test is test:
        statement = "if"
        text = _rewritten_if(outer, test, around)
    elif isinstance(outer, ast.While):
        statement = "while"
    elif isinstance(outer, ast.Assert):
        statement = "assert"
    elif isinstance(test, (ast.BoolOp, ast.UnaryOp, ast.Compare)):
        text = elementwise(test)
    else:
        text = _rewritten_call(test)
    if text is not None and (len(text) > LONGEST or "\n" in text):
        text = None
    return Condition(statement, written if len(written) <= LONGEST else "", text)


def _where(test: _Node, yes: _Node, no: _Node) -> str:
    return f"jnp.where({elementwise(test)}, {ast.unparse(yes)}, {ast.unparse(no)})"


def _rewritten_if(statement: ast.If, test: _Node, around: _Parents) -> str | None:
    """`if` statements that return or assign on either way, as one statement."""
    if len(statement.body) != 1 or len(statement.orelse) > 1:
        return None
    yes = statement.body[0]
    no: _Node | None = statement.orelse[0] if statement.orelse else None
    if isinstance(yes, ast.Return):
        no = no if no is not None else _following(statement, around)
        if (
            isinstance(no, ast.Return)
            and yes.value is not None
            and no.value is not None
        ):
            return f"return {_where(test, yes.value, no.value)}"
        return None
    target, new = _assigned(yes)
    if target is None or new is None:
        return None
    if no is None:
        old: _Node | None = ast.Name(target)
    else:
        other, old = _assigned(no)
        if other != target:
            return None
    return None if old is None else f"{target} = {_where(test, new, old)}"


def _following(statement: ast.stmt, around: _Parents) -> _Node | None:
    """The statement after this one in its block."""
    block = getattr(around.get(statement), "body", [])
    if statement not in block:
        return None
    rest = block[block.index(statement) + 1 :]
    return rest[0] if rest else None


def _assigned(statement: _Node) -> tuple[str | None, _Node | None]:
    """The name that a statement binds, and the value."""
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1:
        target = statement.targets[0]
        if isinstance(target, ast.Name):
            return target.id, statement.value
    if isinstance(statement, ast.AugAssign) and isinstance(statement.target, ast.Name):
        name = statement.target.id
        return name, ast.BinOp(ast.Name(name), statement.op, statement.value)
    return None, None


def _rewritten_call(node: _Node) -> str | None:
    """Calls of Python's own functions that ask for conditions."""
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
        return None
    args = [ast.unparse(a) for a in node.args]
    if node.func.id in ("max", "min"):
        if len(args) == 2:
            return f"jnp.{node.func.id}imum({args[0]}, {args[1]})"
        return f"jnp.{node.func.id}({args[0]})" if len(args) == 1 else None
    if node.func.id in _REDUCTIONS and len(args) == 1:
        return f"{_REDUCTIONS[node.func.id]}({args[0]})"
    return None
