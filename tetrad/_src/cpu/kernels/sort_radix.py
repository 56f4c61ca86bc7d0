"""Sorting arrays of signed integers on any processor: insertion for short, radix for long.

What goes out is the text of modules with the functions that all sort kernels call; one
module for numbers of 32 bits, one for those of 64:

    void tetrad_sort_i32(ptr a, i64 n, ptr scratch)      ascending, as signed numbers
    void tetrad_sort_i64(ptr a, i64 n, ptr scratch)
    void tetrad_sort_records(ptr a, i64 n, ptr scratch)  as i64, whose lower halves ascend
    i64  tetrad_split_i32(ptr a, i64 n, ptr scratch)     see below; also i64, records

`scratch` holds n + `SLACK` elements. A record is a 32-bit code above the 32-bit number of
an element. A split moves elements such that the first k, the number that is returned,
are smaller than the others; equal codes stay together. Here a split does nothing;
`sort_vector` states the same functions for processors with 512-bit vectors.

The radix sort moves elements by one byte after the other, the lowest first, and skips
bytes that are the same in all elements.
"""

from __future__ import annotations

SLACK = 64  # elements of scratch memory beyond the extent
SHORT = 24  # up to so many elements, insertion is faster

KINDS = {32: ("i32",), 64: ("i64", "records")}
FIRST_BIT = {"i32": 0, "i64": 0, "records": 32}

DECLARATIONS = """
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
"""

_SORTED = """
define internal i1 @sorted_<T>(ptr %a, i64 %n) nounwind {
entry:
  br label %next
next:
  %i = phi i64 [ 1, %entry ], [ %i.next, %compare ]
  %last = phi <T> [ %first, %entry ], [ %x, %compare ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %compare, label %yes
compare:
  %p = getelementptr <T>, ptr %a, i64 %i
  %x = load <T>, ptr %p
  %i.next = add i64 %i, 1
  %fine = icmp sle <T> %last, %x
  br i1 %fine, label %next, label %no
yes:
  ret i1 true
no:
  ret i1 false
}
""".replace("entry:\n", "entry:\n  %first = load <T>, ptr %a\n")

_INSERT = """
define internal void @insert_<T>(ptr %a, i64 %n) nounwind {
entry:
  br label %outer
outer:
  %i = phi i64 [ 1, %entry ], [ %i.next, %place ]
  %more = icmp slt i64 %i, %n
  br i1 %more, label %take, label %leave
take:
  %p = getelementptr <T>, ptr %a, i64 %i
  %x = load <T>, ptr %p
  br label %inner
inner:
  %j = phi i64 [ %i, %take ], [ %below, %shift ]
  %below = sub i64 %j, 1
  %q = getelementptr <T>, ptr %a, i64 %below
  %open = icmp sgt i64 %j, 0
  br i1 %open, label %look, label %place
look:
  %y = load <T>, ptr %q
  %larger = icmp sgt <T> %y, %x
  br i1 %larger, label %shift, label %place
shift:
  %r = getelementptr <T>, ptr %a, i64 %j
  store <T> %y, ptr %r
  br label %inner
place:
  %s = getelementptr <T>, ptr %a, i64 %j
  store <T> %x, ptr %s
  %i.next = add i64 %i, 1
  br label %outer
leave:
  ret void
}
"""

_RADIX = """
; Sorts by the bytes from bit `first` on; the last byte is that of the sign.
define internal void @radix_<T>(ptr %a, i64 %n, ptr %scratch, <T> %first) nounwind {
entry:
  %counts = alloca [256 x i64], align 64
  br label %pass
pass:
  %shift = phi <T> [ %first, %entry ], [ %shift.same, %skip ], [ %shift.next, %moved ]
  %from = phi ptr [ %a, %entry ], [ %from, %skip ], [ %to, %moved ]
  %to = phi ptr [ %scratch, %entry ], [ %to, %skip ], [ %from, %moved ]
  %more = icmp ult <T> %shift, <BITS>
  br i1 %more, label %clear, label %finish
clear:
  call void @llvm.memset.p0.i64(ptr align 64 %counts, i8 0, i64 2048, i1 false)
  %top = icmp eq <T> %shift, <TOP>
  %flip = select i1 %top, <T> 128, <T> 0
  br label %count
count:
  %i = phi i64 [ 0, %clear ], [ %i.next, %count ]
  %p = getelementptr <T>, ptr %from, i64 %i
  %x = load <T>, ptr %p
  %x.low = lshr <T> %x, %shift
  %x.byte = and <T> %x.low, 255
  %x.digit = xor <T> %x.byte, %flip
  %place = getelementptr i64, ptr %counts, <T> %x.digit
  %seen = load i64, ptr %place
  %seen.next = add i64 %seen, 1
  store i64 %seen.next, ptr %place
  %i.next = add i64 %i, 1
  %i.more = icmp slt i64 %i.next, %n
  br i1 %i.more, label %count, label %sum
sum:
  %d = phi i64 [ 0, %count ], [ %d.next, %sum ]
  %total = phi i64 [ 0, %count ], [ %total.next, %sum ]
  %one = phi i1 [ false, %count ], [ %one.next, %sum ]
  %c.place = getelementptr i64, ptr %counts, i64 %d
  %c = load i64, ptr %c.place
  store i64 %total, ptr %c.place
  %total.next = add i64 %total, %c
  %all = icmp eq i64 %c, %n
  %one.next = or i1 %one, %all
  %d.next = add i64 %d, 1
  %d.more = icmp slt i64 %d.next, 256
  br i1 %d.more, label %sum, label %decide
decide:
  br i1 %one.next, label %skip, label %move
skip:
  %shift.same = add <T> %shift, 8
  br label %pass
move:
  %k = phi i64 [ 0, %decide ], [ %k.next, %move ]
  %k.p = getelementptr <T>, ptr %from, i64 %k
  %y = load <T>, ptr %k.p
  %y.low = lshr <T> %y, %shift
  %y.byte = and <T> %y.low, 255
  %y.digit = xor <T> %y.byte, %flip
  %y.place = getelementptr i64, ptr %counts, <T> %y.digit
  %rank = load i64, ptr %y.place
  %rank.next = add i64 %rank, 1
  store i64 %rank.next, ptr %y.place
  %target = getelementptr <T>, ptr %to, i64 %rank
  store <T> %y, ptr %target
  %k.next = add i64 %k, 1
  %k.more = icmp slt i64 %k.next, %n
  br i1 %k.more, label %move, label %moved
moved:
  %shift.next = add <T> %shift, 8
  br label %pass
finish:
  %home = icmp eq ptr %from, %a
  br i1 %home, label %leave, label %copy
copy:
  %bytes = mul i64 %n, <SIZE>
  call void @llvm.memcpy.p0.p0.i64(ptr %a, ptr %from, i64 %bytes, i1 false)
  br label %leave
leave:
  ret void
}
"""

_SORT = """
define dso_local void @<NAME>(ptr %a, i64 %n, ptr %scratch) nounwind {
entry:
  %some = icmp sgt i64 %n, 1
  br i1 %some, label %check, label %leave
check:
  %done = call i1 @sorted_<T>(ptr %a, i64 %n)
  br i1 %done, label %leave, label %size
size:
  %short = icmp sle i64 %n, <SHORT>
  br i1 %short, label %insert, label %radix
insert:
  call void @insert_<T>(ptr %a, i64 %n)
  br label %leave
radix:
  call void @radix_<T>(ptr %a, i64 %n, ptr %scratch, <T> <FIRST>)
  br label %leave
leave:
  ret void
}
"""

_SPLIT = """
define dso_local i64 @<NAME>(ptr %a, i64 %n, ptr %scratch) nounwind {
  ret i64 0
}
"""


def fill(text: str, bits: int, **names: object) -> str:
    """A text with its element type and what else stands in angle brackets filled in."""
    values: dict[str, object] = {
        "T": f"i{bits}",
        "BITS": bits,
        "TOP": bits - 8,
        "SIZE": bits // 8,
        **names,
    }
    for name, value in values.items():
        text = text.replace(f"<{name}>", str(value))
    return text


def parts(bits: int) -> str:
    """The internal functions for one width: sorted, insert, radix."""
    return "".join([fill(part, bits) for part in (_SORTED, _INSERT, _RADIX)])


def names(bits: int) -> list[str]:
    """The functions of the module for one width."""
    return [
        f"tetrad_{verb}_{kind}" for verb in ("sort", "split") for kind in KINDS[bits]
    ]


def module_text(bits: int) -> str:
    """The whole module for one width."""
    texts = [parts(bits)]
    for kind in KINDS[bits]:
        values = {"NAME": f"tetrad_sort_{kind}", "FIRST": FIRST_BIT[kind]}
        texts.append(fill(_SORT, bits, SHORT=SHORT, **values))
        texts.append(fill(_SPLIT, bits, NAME=f"tetrad_split_{kind}"))
    return "".join(texts) + DECLARATIONS
