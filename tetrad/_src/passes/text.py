"""Plans as text: for people who look, and for golden tests."""

from __future__ import annotations

from typing import Any

from tetrad._src.passes.ir import (
    COORDINATE,
    PICK,
    POINT,
    READ,
    SCALAR,
    Access,
    Band,
    Branch,
    Call,
    Copy,
    Form,
    Inner,
    Kernel,
    Loop,
    Plan,
    Read,
    Scalar,
    Step,
)
from tetrad._src.passes.plan import Memory


def plan_text(plan: Plan) -> str:
    """One line per input, step and output; entries of kernels are indented."""
    lines = []
    for position in range(plan.inputs):
        how = " by value" if plan.by_value[position] else ""
        lines.append(f"v{position}: {plan.avals[position].short_name()}{how}")
    lines.extend(_block_lines(plan.steps, plan))
    lines.append("return " + " ".join(f"v{v}" for v in plan.outs))
    return "\n".join(lines)


def _block_lines(steps: list[Step], plan: Plan) -> list[str]:
    lines: list[str] = []
    for step in steps:
        if type(step) is Kernel:
            lines.extend(kernel_lines(step, plan))
        elif type(step) is Band:
            lines.append(f"band of {step.rows} rows, {step.length} elements each")
            for kernel in step.kernels:
                lines.extend(f"  {line}" for line in kernel_lines(kernel, plan))
        elif type(step) is Copy:
            lines.append(f"copy v{step.target} = v{step.source}")
        elif type(step) is Branch:
            lines.append(f"branch v{step.index}")
            for number, block in enumerate(step.blocks):
                lines.append(f"  {number}:")
                lines.extend(f"    {line}" for line in _block_lines(block, plan))
        elif type(step) is Loop:
            lines.extend(_loop_lines(step, plan))
        else:
            assert type(step) is Call
            values = " ".join(f"v{v}" for v in step.values)
            reads = ", ".join(_read(read) for read in step.reads)
            lines.append(f"call {values} = {step.name} {reads}")
    return lines


def _loop_lines(loop: Loop, plan: Plan) -> list[str]:
    inner: list[str] = []
    for value, part in plan.parts.items():
        if part.loop is loop:
            way = " backwards" if part.stride < 0 else ""
            inner.append(
                f"v{value}: {plan.avals[value].short_name()} of v{part.whole}{way}"
            )
    inner.extend(_block_lines(loop.body, plan))
    inner.extend(f"carry v{before} = v{after}" for after, before in loop.carries)
    if loop.length is not None:
        return [f"loop {loop.length} times", *[f"  {line}" for line in inner]]
    test = _block_lines(loop.test, plan)
    return [
        "loop",
        *[f"  {line}" for line in test],
        f"  while v{loop.condition}",
        *[f"  {line}" for line in inner],
    ]


def kernel_lines(kernel: Kernel, plan: Plan) -> list[str]:
    """The text of one kernel."""
    lines = [f"kernel {list(kernel.space)}"]
    for number, entry in enumerate(kernel.entries):
        lines.append(f"  %{number} = {_entry(kernel, entry)}")
    for write in kernel.writes:
        place = f" at {write.offset} {list(write.strides)}{_terms(write.terms)}"
        if plan.avals[write.value].shape == kernel.space and not write.terms:
            place = " dense"
        if write.ref < 0:
            lines.append(f"  v{write.value}{place}")
            continue
        lines.append(f"  v{write.value}{place} = %{write.ref}")
    for reduction in kernel.reductions:
        values = " ".join(f"v{v}" for v in reduction.values)
        refs = " ".join(f"%{r}" for r in reduction.refs)
        lines.append(f"  {values} = {op_text(reduction.op)} {refs}")
    for scatter in kernel.scatters:
        refs = " ".join(f"%{ref}" for ref in (scatter.ref, *scatter.refs))
        lines.append(f"  v{scatter.value} = {scatter.op.name} {refs}")
    if kernel.inner is not None:
        lines.extend(inner_lines(kernel.inner))
    return lines


def inner_lines(inner: Inner) -> list[str]:
    """Control flow inside of a kernel; $n are values of a turn, !n are lifted ones."""
    refs = inner.refs
    lifted = " ".join(f"%{r}" for r in refs[: inner.lifted])
    operands = " ".join(f"%{r}" for r in refs[inner.lifted :])
    lines = [f"  {inner.form.kind} {operands} with {lifted}".rstrip()]
    lines.extend(f"  {line}" for line in _form_lines(inner.form))
    for number, write in enumerate(inner.results):
        if write >= 0:
            lines.append(f"    result {number} in write {write}")
    for number, write in enumerate(inner.stores):
        if write >= 0:
            lines.append(f"    stack {number} in write {write}")
    return lines


def _form_lines(form: Form) -> list[str]:
    lines = []
    for number, turn in enumerate(form.turns):
        lines.append(f"  turn {number}:")
        first = len(turn.wide) - len(turn.entries)
        for offset, entry in enumerate(turn.entries):
            head = entry[0]
            name = f"${first + offset}"
            if type(head) is Form:
                refs = " ".join(_turn_ref(r) for r in entry[1:])
                lines.append(f"    {name} = {head.kind} {refs}")
                lines.extend(f"    {line}" for line in _form_lines(head))
            elif type(head) is Access:
                refs = " ".join(_turn_ref(r) for r in entry[1:])
                verb = "store in" if head.store else "fetch from"
                where = f" by {head.where.op.name}" if head.where is not None else ""
                lines.append(f"    {name} = {verb} array {head.array}{where} {refs}")
            elif head == PICK:
                lines.append(f"    {name} = pick {_turn_ref(entry[1])} {entry[2]}")
            else:
                refs = " ".join(_turn_ref(r) for r in entry[1:])
                lines.append(f"    {name} = {op_text(head)} {refs}")
        lines.append("    next " + " ".join(_turn_ref(r) for r in turn.outs))
    return lines


def _turn_ref(ref: int) -> str:
    return f"${ref}" if ref >= 0 else f"!{~ref}"


def op_text(op: Any) -> str:
    """An operation with its own fields; those that are None say nothing."""
    names = getattr(type(op), "__match_args__", ())
    fields = [(name, getattr(op, name)) for name in names]
    text = ", ".join(f"{name}={value}" for name, value in fields if value is not None)
    return f"{op.name}[{text}]" if text else str(op.name)


def _read(read: Read) -> str:
    return f"v{read.value} at {read.offset} {list(read.strides)}{_terms(read.terms)}"


def _terms(terms: Any) -> str:
    parts = []
    for term in terms:
        source = (
            _scalar(term.source) if type(term.source) is Scalar else f"v{term.source}"
        )
        parts.append(f" + {source}≤{term.limit}·{term.stride}")
    return "".join(parts)


def _scalar(scalar: Scalar) -> str:
    return f"v{scalar.position}" if scalar.position >= 0 else str(scalar.literal)


def _entry(kernel: Kernel, entry: tuple[Any, ...]) -> str:
    head = entry[0]
    if head == READ:
        return f"read {_read(kernel.reads[entry[1]])}"
    if head == SCALAR:
        return f"scalar {_scalar(kernel.scalars[entry[1]])}"
    if head == COORDINATE:
        count = entry[1]
        return f"coordinate {count.offset} {list(count.strides)}{_terms(count.terms)}"
    if head == PICK:
        return f"pick %{entry[1]} {entry[2]}"
    if head == POINT:
        refs = " ".join(f"%{ref}" for ref in entry[3])
        return f"point {entry[1].name} {_read(kernel.reads[entry[2]])} {refs}"
    return " ".join([op_text(head), *[f"%{r}" for r in entry[1:]]])


def program_text(plan: Plan, memory: Memory) -> str:
    """Where every value lives."""
    lines = []
    for value, aval in enumerate(plan.avals):
        if memory.slots[value] < 0 or value in plan.parts:
            continue
        place = f"p{memory.slots[value]}"
        if memory.slots[value] == memory.arena_slot:
            place = f"arena + {memory.offsets[value]}"
        lines.append(f"v{value}: {aval.short_name()} in {place}")
    for j, donor in enumerate(memory.donors):
        if donor is not None:
            lines.append(f"output {j} may take over p{donor}")
    for swap in memory.swaps:
        names = ", ".join([f"v{value}" for value in swap.values])
        lines.append(f"{names} change places after each turn")
    lines.append(f"arena: {memory.arena} bytes")
    return "\n".join(lines)
