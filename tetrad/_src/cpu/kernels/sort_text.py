"""The text around the sorting of integers: codes of keys, ties, and moving elements.

What comes in: the element types of the key operands, in order of importance, and of the
operands that follow them. What goes out: the functions of one kernel, without shapes.

A key becomes a signed code whose order is that of the keys: NaN is the largest code and
−0 has that of 0. With a single operand of at most 64 bits the codes are sorted and
turned back into elements (`write_plain`); what the codes of floats have lost, the order
of zeros and the bits of NaNs, is repaired afterwards. Otherwise 32 bits of code (a
`Word`) and 32 bits that number the element make a record (`write_records`). Records are
sorted by the first word; within ties the next word takes its place, and so on. Then the
elements of every operand are taken in the order of the records.

Words of a launch: the extents and the scratch memory, then the inputs, then the results.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from tetrad._src.cpu import engine, schedule
from tetrad._src.cpu.formats import FORMATS, Special
from tetrad._src.cpu.llvm import Writer
from tetrad._src.cpu.registers import (
    COMPLEX,
    FLOATS,
    REAL_OF,
    SIZE,
    UNSIGNED,
    bit_width,
)
from tetrad._src.cpu.scalar import Value

INFINITY = {
    "bf16": 0x7F80,
    "f16": 0x7C00,
    "f32": 0x7F800000,
    "f64": 0x7FF << 52,
    # Of formats without infinity, the largest number; all aligned to the sign.
    **{
        name: (form.largest + (form.special is Special.IEEE)) << (8 - form.bits)
        for name, form in FORMATS.items()
    },
}
UNSIGNED_FLOATS = frozenset(name for name, f in FORMATS.items() if not f.mantissa)
WITHOUT_MINUS_ZERO = frozenset(
    name for name, form in FORMATS.items() if form.special is Special.MINUS_ZERO
)
REPAIRED = FLOATS - UNSIGNED_FLOATS - WITHOUT_MINUS_ZERO  # whose codes lose something
BY_SIZE = {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "c128"}
SHORT = 256  # elements that are looked at one by one before anything is mended
NUMBER = 0xFFFFFFFF  # the half of a record that numbers the element


class Word(NamedTuple):
    """32 bits of a key: of operand `key`, of its real or imaginary part."""

    key: int
    type: str  # a real type
    parts: int  # 2 for complex numbers
    part: int
    low: bool  # the lower half of 64 bits
    down: bool  # the largest come first


def words_of(types: tuple[str, ...], down: bool = False) -> list[Word]:
    """The words of all keys, the most important first."""
    words = []
    for key, type in enumerate(types):
        parts = 2 if type in COMPLEX else 1
        real = REAL_OF.get(type, type)
        for part in range(parts):
            words.append(Word(key, real, parts, part, False, down))
            if SIZE[real] == 8:
                words.append(Word(key, real, parts, part, True, down))
    return words


class Function(Writer):
    """Writes a function with any signature."""

    def text(self, name: str, signature: str, result: str = "void") -> str:
        """The finished function; `result` is a type and a value."""
        body = "\n".join(self.lines)
        return (
            f"define internal {result.split()[0]} @{name}({signature}) nounwind"
            f' "prefer-vector-width"="512" {{\nentry:\n{body}\n  ret {result}\n}}\n'
        )


# ------------------------------------------------------------------------- codes


def integer(type: str) -> str:
    """The signed integer type of the size of an element."""
    return f"i{8 * SIZE[type]}"


def aligned(w: Writer, bits: Value, type: str) -> Value:
    """The bits of an element, moved to the top if they do not fill a byte."""
    unused = _unused_bits(type)
    return w.binary("shl", bits, unused) if unused else bits


def _unused_bits(type: str) -> int:
    return 0 if type == "i1" else 8 * SIZE[type] - bit_width(type)


def code_of(w: Writer, bits: Value, type: str, exact: bool) -> Value:
    """The signed code of an element; `exact` codes of floats tell −0 from 0."""
    width = 8 * SIZE[type]
    x = aligned(w, w.relabel(bits, integer(type)), type)
    if type in UNSIGNED or type in UNSIGNED_FLOATS:
        return x ^ (-1 << (width - 1))
    if type not in FLOATS:
        return x
    largest = (1 << (width - 1)) - 1
    if type in WITHOUT_MINUS_ZERO:
        # Codes of numbers from 0 on move down by one, which makes room for NaN.
        code = w.select(w.compare("slt", x, 0), x ^ largest, x - 1)
        return w.select(w.compare("eq", x, ~largest), largest, code)
    size = x & largest
    code = x ^ ((x >> (width - 1)) & largest)
    if not exact:
        code = w.select(w.compare("eq", size, 0), 0, code)
    return w.select(w.compare("sgt", size, INFINITY[type]), largest, code)


def element_of(w: Writer, code: Value, type: str) -> Value:
    """The element that has an exact code."""
    width = 8 * SIZE[type]
    least = -1 << (width - 1)
    if type in UNSIGNED or type in UNSIGNED_FLOATS:
        x = code ^ least
    elif type not in FLOATS:
        x = code
    elif type in WITHOUT_MINUS_ZERO:
        x = w.select(w.compare("slt", code, -1), code ^ ~least, code + 1)
    else:
        x = code ^ ((code >> (width - 1)) & ~least)
    unused = _unused_bits(type)
    return w.binary("lshr", x, unused) if unused else x


def record_of(w: Writer, bits: Value, word: Word, number: Value) -> Value:
    """The record of an element and its number."""
    code = code_of(w, bits, word.type, False)
    if word.down:
        code = code ^ -1
    if SIZE[word.type] < 8:
        high = w.convert(code, "i64") << 32
    elif word.low:
        high = (code << 32) ^ (-1 << 63)
    else:
        high = code & ~NUMBER
    return high | number


def _numbers(w: Writer, first: str) -> Value:
    return w.add(w.broadcast(first, "i64"), w.lane_index("i64"))


def _word_bits(
    w: Writer, pointer: str, number: Value, word: Word, mask: Value | None
) -> Value:
    """The bits of the key of elements by number."""
    if word.parts == 2:
        number = w.add(number + number, word.part)
    return w.gather(pointer, number, integer(word.type), mask)


def _vectors(w: Function, visit: Callable[[str, Value | None], None]) -> None:
    """Visits the vectors of %lo..%hi; the last one is masked."""
    length = w.i("sub", "%hi", "%lo")
    whole = w.i("add", "%lo", w.i("and", length, -w.lanes))
    main = w.begin("%lo", whole, w.lanes)
    visit(main.index, None)
    w.end(main)
    with w.when(w.less(whole, "%hi")):
        visit(whole, w.mask(w.i("sub", "%hi", whole)))


class Texts:
    """Functions of a module, and what they declare."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.declarations: set[str] = set()

    def add(self, w: Function, name: str, signature: str, result: str = "void") -> None:
        self.parts.append(w.text(name, signature, result))
        self.declarations |= w.declarations

    def launch(self, w: Writer, name: str) -> None:
        self.parts.append(w.function(name))
        self.declarations |= w.declarations

    def text(self) -> str:
        return "\n".join([*self.parts, *sorted(self.declarations)]) + "\n"


# ------------------------------------------------------- one operand: sorted as codes


def _plain_encode(type: str, wide: str) -> Function:
    w = Function(schedule.lanes(wide == "i64"))

    def visit(at: str, mask: Value | None) -> None:
        x = w.load(w.point_to("%x", at, type), integer(type), mask)
        code = w.convert(code_of(w, x, type, True), wide)
        w.store(code, w.point_to("%codes", at, wide), mask)

    _vectors(w, visit)
    return w


def _plain_decode(type: str, wide: str) -> Function:
    w = Function(schedule.lanes(wide == "i64"))

    def visit(at: str, mask: Value | None) -> None:
        code = w.load(w.point_to("%codes", at, wide), wide, mask)
        x = element_of(w, w.convert(code, integer(type)), type)
        w.store(x, w.point_to("%y", at, type), mask)

    _vectors(w, visit)
    return w


_BELOW = """
; How many of the ascending codes are less than x.
define internal i64 @below(ptr %codes, i64 %n, <T> %x) nounwind {
entry:
  br label %halve
halve:
  %low = phi i64 [ 0, %entry ], [ %low.next, %look ]
  %high = phi i64 [ %n, %entry ], [ %high.next, %look ]
  %open = icmp slt i64 %low, %high
  br i1 %open, label %look, label %leave
look:
  %sum = add i64 %low, %high
  %middle = lshr i64 %sum, 1
  %p = getelementptr <T>, ptr %codes, i64 %middle
  %code = load <T>, ptr %p
  %less = icmp slt <T> %code, %x
  %above = add i64 %middle, 1
  %low.next = select i1 %less, i64 %above, i64 %low
  %high.next = select i1 %less, i64 %high, i64 %middle
  br label %halve
leave:
  ret i64 %low
}
"""


def _plain_suspect(type: str, wide: str) -> tuple[Function, str]:
    """Whether codes may be −0 or NaN: a quick look at short rows, yes for others."""
    w = Function(schedule.lanes(wide == "i64"))
    largest = (1 << (8 * SIZE[type] - 1)) - 1
    long = w.raw(f"icmp sgt i64 %n, {SHORT}")
    end = w.raw(f"select i1 {long}, i64 0, i64 %n")
    loop = w.begin("0", end, w.lanes, [(w.register("i1"), "zeroinitializer")])
    before = w.value(loop.carried[0], "i1")
    mask = w.mask(w.i("sub", end, loop.index))
    code = w.load(w.point_to("%codes", loop.index, wide), wide, mask)
    odd = w.binary("or", w.compare("eq", code, -1), w.compare("eq", code, largest))
    w.end(loop, [w.binary("or", odd, before).ref])
    return w, w.raw(f"or i1 {w.any_lane(before)}, {long}")


def _plain_mend(type: str, wide: str) -> Function:
    """Puts zeros of both signs, and NaNs, in the order in which they came."""
    w = Function(1)
    with w.when(w.raw("call i1 @suspect(ptr %codes, i64 %n)")):
        _mend_all(w, type, wide)
    return w


def _mend_all(w: Function, type: str, wide: str) -> None:
    largest = (1 << (8 * SIZE[type] - 1)) - 1
    bits = integer(type)
    places = [
        w.raw(f"call i64 @below(ptr %codes, i64 %n, {wide} {code})")
        for code in (-1, 0, 1, largest)
    ]
    negative, positive, after, nans = places
    mixed = w.raw(f"and i1 {w.less(negative, positive)}, {w.less(positive, after)}")
    wanted = w.raw(f"or i1 {mixed}, {w.less(nans, '%n')}")
    with w.when(wanted):
        carried = [("i64", negative), ("i64", nans)]
        loop = w.begin("0", "%n", 1, carried)
        zero, nan = loop.carried
        x = w.load(w.point_to("%x", loop.index, type), bits)
        size = aligned(w, x, type) & largest
        is_zero = w.compare("eq", size, 0)
        is_nan = w.compare("sgt", size, INFINITY[type])
        place = w.raw(f"select i1 {is_nan.ref}, i64 {nan}, i64 {zero}")
        with w.when(w.binary("or", is_zero, is_nan).ref):
            w.store(x, w.point_to("%y", place, type))
        steps = [w.raw(f"zext i1 {flag.ref} to i64") for flag in (is_zero, is_nan)]
        w.end(loop, [w.i("add", at, by) for at, by in zip((zero, nan), steps)])


def write_plain(texts: Texts, type: str) -> None:
    """`encode`, `decode` and, for floats, `mend`."""
    wide = plain_code(type)
    texts.add(
        _plain_encode(type, wide), "encode", "ptr %x, ptr %codes, i64 %lo, i64 %hi"
    )
    texts.add(
        _plain_decode(type, wide), "decode", "ptr %codes, ptr %y, i64 %lo, i64 %hi"
    )
    if type in REPAIRED:
        texts.parts.append(_BELOW.replace("<T>", wide))
        suspect, found = _plain_suspect(type, wide)
        texts.add(suspect, "suspect", "ptr %codes, i64 %n", f"i1 {found}")
        texts.add(
            _plain_mend(type, wide), "mend_row", "ptr %x, ptr %codes, ptr %y, i64 %n"
        )


def plain_code(type: str) -> str:
    """The type in which the elements of a single operand are sorted."""
    return "i64" if SIZE[type] == 8 else "i32"


# -------------------------------------------------------------- several: as records


def _record_encode(word: Word) -> Function:
    w = Function(schedule.lanes(False))

    def visit(at: str, mask: Value | None) -> None:
        numbers = _numbers(w, at)
        if word.parts == 2:
            x = _word_bits(w, "%x", numbers, word, mask)
        else:
            x = w.load(w.point_to("%x", at, word.type), integer(word.type), mask)
        record = record_of(w, x, word, numbers)
        w.store(record, w.point_to("%records", at, "i64"), mask)

    _vectors(w, visit)
    return w


def _record_renew(word: Word) -> Function:
    """Gives records another word of their elements."""
    w = Function(1)
    loop = w.begin("0", "%n", 1)
    place = w.point_to("%records", loop.index, "i64")
    number = w.load(place, "i64") & NUMBER
    x = _word_bits(w, f"%x{word.key}", number, word, None)
    w.store(record_of(w, x, word, number), place)
    w.end(loop)
    return w


_TIES = """
; Sorts runs of records with equal words by the words from number <K> on.
define internal void @ties<K>(<KEYS>, ptr %records, i64 %n, ptr %scratch) nounwind {
entry:
  br label %run
run:
  %start = phi i64 [ 0, %entry ], [ %end, %single ], [ %end, %sort ]
  %more = icmp slt i64 %start, %n
  br i1 %more, label %first, label %leave
first:
  %p = getelementptr i64, ptr %records, i64 %start
  %record = load i64, ptr %p
  %word = lshr i64 %record, 32
  br label %next
next:
  %last = phi i64 [ %start, %first ], [ %end, %look ]
  %end = add i64 %last, 1
  %inside = icmp slt i64 %end, %n
  br i1 %inside, label %look, label %single
look:
  %q = getelementptr i64, ptr %records, i64 %end
  %other = load i64, ptr %q
  %other.word = lshr i64 %other, 32
  %same = icmp eq i64 %word, %other.word
  br i1 %same, label %next, label %single
single:
  %length = sub i64 %end, %start
  %several = icmp sgt i64 %length, 1
  br i1 %several, label %sort, label %run
sort:
  call void @renew<K>(<KEYS>, ptr %p, i64 %length)
  call void @tetrad_sort_records(ptr %p, i64 %length, ptr %scratch)
  <FURTHER>
  br label %run
leave:
  ret void
}
"""


def key_list(keys: int) -> str:
    """Parameters, or arguments, for the rows of all keys."""
    return ", ".join([f"ptr %x{key}" for key in range(keys)])


def _record_take(type: str, exact: bool, down: bool) -> Function:
    """Elements in the order of the records; `exact`: the records hold them."""
    size = SIZE[type]
    stored = BY_SIZE[size]
    vectors = engine.vector_bits() == 512 and (exact or size in (4, 8))
    w = Function(schedule.lanes(False) if vectors else 1)

    def visit(at: str, mask: Value | None) -> None:
        record = w.load(w.point_to("%records", at, "i64"), "i64", mask)
        if exact:
            code = w.convert(record >> 32, integer(type))
            code = code ^ -1 if down else code
            x = element_of(w, code, type)
        else:
            x = w.gather("%x", record & NUMBER, stored, mask)
        w.store(x, w.point_to("%y", at, type), mask)

    _vectors(w, visit)
    return w


def _record_numbers() -> Function:
    """The numbers of the elements, in the order of the records."""
    w = Function(schedule.lanes(False))

    def visit(at: str, mask: Value | None) -> None:
        record = w.load(w.point_to("%records", at, "i64"), "i64", mask)
        w.store(w.convert(record, "i32"), w.point_to("%y", at, "i32"), mask)

    _vectors(w, visit)
    return w


def write_numbers(texts: Texts) -> None:
    """`numbers`."""
    texts.add(_record_numbers(), "numbers", "ptr %records, ptr %y, i64 %lo, i64 %hi")


def write_records(
    texts: Texts, types: tuple[str, ...], keys: int, down: bool = False
) -> None:
    """`encode`, `ties1` and its like, and `take0`, `take1`, …"""
    words = words_of(types[:keys], down)
    rows = key_list(keys)
    texts.add(
        _record_encode(words[0]), "encode", "ptr %x, ptr %records, i64 %lo, i64 %hi"
    )
    for k in range(len(words) - 1, 0, -1):
        texts.add(_record_renew(words[k]), f"renew{k}", f"{rows}, ptr %records, i64 %n")
        further = ""
        if k + 1 < len(words):
            further = (
                f"call void @ties{k + 1}({rows}, ptr %p, i64 %length, ptr %scratch)"
            )
        tie = _TIES.replace("<K>", str(k)).replace("<KEYS>", rows)
        texts.parts.append(tie.replace("<FURTHER>", further))
    for position, type in enumerate(types):
        exact = len(words) == 1 and position == 0 and type not in FLOATS
        texts.add(
            _record_take(type, exact, down),
            f"take{position}",
            "ptr %x, ptr %records, ptr %y, i64 %lo, i64 %hi",
        )
