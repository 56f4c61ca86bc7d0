"""Sorting arrays of signed integers with 512-bit vectors that can be compressed.

What goes out is the text of a module with the functions that `sort_radix` describes.
It is a quicksort: `partition` moves the elements below a pivot to the front by
compressing vectors, and what is short enough for registers is sorted by a bitonic
network. The pivot is the median of a sample. After too many bad pivots the radix sort
takes over, so that no input needs quadratic time.

In a network, element i of the order lies in lane i / R of register i mod R, so that
most comparisons are between registers; the result is interleaved at the end.
"""

from __future__ import annotations

from tetrad._src.cpu.kernels import sort_radix
from tetrad._src.cpu.kernels.sort_text import Function, Texts
from tetrad._src.cpu.scalar import Value

REGISTERS = (1, 2, 4, 8, 16)  # sizes of networks
UNROLL = 4  # vectors that a partition handles at a time
SPLIT_FROM = 4096  # shorter parts are not split


def lanes_of(bits: int) -> int:
    """Elements of a vector."""
    return 512 // bits


# ----------------------------------------------------------------------- networks


class Network:
    """Sorts up to `count` registers full of elements, in memory."""

    def __init__(self, bits: int, count: int) -> None:
        self.type = f"i{bits}"
        self.count = count
        self.lanes = lanes_of(bits)
        w = self.w = Function(self.lanes)
        pointers, masks = [], []
        for number in range(count):
            left = w.i("sub", "%n", number * self.lanes)
            masks.append(w.mask(w.larger_index(left, "0")))
            pointers.append(w.point_to("%a", str(number * self.lanes), self.type))
        largest = (1 << (bits - 1)) - 1
        self.registers = [
            w.select(mask, w.load(pointer, self.type, mask), largest)
            for pointer, mask in zip(pointers, masks)
        ]
        self.sort()
        self.interleave()
        for x, pointer, mask in zip(self.registers, pointers, masks):
            w.store(x, pointer, mask)

    def sort(self) -> None:
        """Bitonic: runs of 2, 4, 8, … elements."""
        size = self.lanes * self.count
        run = 2
        while run <= size:
            self.compare(run - 1, run // 2)
            by = run // 4
            while by:
                self.compare(by, by)
                by //= 2
            run *= 2

    def compare(self, flip: int, bit: int) -> None:
        """Orders elements i and i ^ flip; the one without `bit` gets the smaller."""
        in_register, in_lane = flip % self.count, flip // self.count
        lane_bit = bit // self.count
        x = self.registers
        for r in range(self.count):
            other = r ^ in_register
            if not in_lane:
                if r < other:
                    x[r], x[other] = self.ordered(x[r], x[other])
            elif r == other:
                small, large = self.ordered(x[r], self.flipped(x[r], in_lane))
                x[r] = self.blended(lane_bit, small, large)
            elif r < other:
                small, large = self.ordered(x[r], self.flipped(x[other], in_lane))
                x[r] = self.blended(lane_bit, small, large)
                rest = self.blended(lane_bit, large, small)
                x[other] = self.flipped(rest, in_lane)

    def ordered(self, x: Value, y: Value) -> tuple[Value, Value]:
        w = self.w
        return w.intrinsic("smin", x, y), w.intrinsic("smax", x, y)

    def flipped(self, x: Value, by: int) -> Value:
        return self.w.shuffled(x, [lane ^ by for lane in range(self.lanes)])

    def blended(self, bit: int, x: Value, y: Value) -> Value:
        """Lanes without `bit` of x, the others of y."""
        lanes = range(self.lanes)
        return self.mixed(x, y, [n + self.lanes if n & bit else n for n in lanes])

    def mixed(self, x: Value, y: Value, order: list[int]) -> Value:
        """Lanes out of two vectors."""
        w = self.w
        register = w.register(self.type)
        lanes = ", ".join([f"i32 {lane}" for lane in order])
        return w.emit(
            self.type,
            f"shufflevector {register} {x.ref}, {register} {y.ref},"
            f" <{self.lanes} x i32> <{lanes}>",
        )

    def interleave(self) -> None:
        """From lanes of registers to the order in memory."""
        half = self.lanes // 2
        low = [n // 2 + (n & 1) * self.lanes for n in range(self.lanes)]
        high = [lane + half for lane in low]

        def woven(x: list[Value]) -> list[Value]:
            if len(x) == 1:
                return x
            even, odd = woven(x[::2]), woven(x[1::2])
            return [
                self.mixed(a, b, order)
                for a, b in zip(even, odd)
                for order in (low, high)
            ]

        self.registers = woven(self.registers)


# --------------------------------------------------------------------- partitions


class Partition:
    """Moves the elements that compare with the pivot to the front; counts them."""

    def __init__(self, bits: int, predicate: str) -> None:
        self.type = f"i{bits}"
        self.predicate = predicate
        lanes = lanes_of(bits)
        w = self.w = Function(lanes)
        self.pivot = w.broadcast("%pivot", self.type)
        whole = w.i("and", "%n", -UNROLL * lanes)
        zeros = [("i64", "0"), ("i64", "0")]
        main = w.begin("0", whole, UNROLL * lanes, zeros)
        low, high = main.carried
        vectors = []
        for number in range(UNROLL):
            at = w.i("add", main.index, number * lanes)
            vectors.append(w.load(w.point_to("%a", at, self.type), self.type))
        chosen = [self.below(x) for x in vectors]
        for x, mask in zip(vectors, chosen):
            low, high = self.deal(x, mask, w.not_(mask), low, high, False)
        w.end(main, [low, high])
        low, high = main.carried
        tail = w.begin(whole, "%n", lanes, [("i64", low), ("i64", high)])
        low, high = tail.carried
        inside = w.mask(w.i("sub", "%n", tail.index))
        x = w.load(w.point_to("%a", tail.index, self.type), self.type, inside)
        below = self.below(x)
        above = w.binary("and", w.not_(below), inside)
        below = w.binary("and", below, inside)
        low, high = self.deal(x, below, above, low, high, True)
        w.end(tail, [low, high])
        self.low, high = tail.carried
        target = w.point_to("%a", self.low, self.type)
        length = w.i("mul", high, bits // 8)
        w.line(
            f"call void @llvm.memcpy.p0.p0.i64(ptr align {bits // 8} {target},"
            f" ptr align {bits // 8} %scratch, i64 {length}, i1 false)"
        )

    def below(self, x: Value) -> Value:
        return self.w.compare(self.predicate, x, self.pivot)

    def deal(
        self, x: Value, below: Value, above: Value, low: str, high: str, careful: bool
    ) -> tuple[str, str]:
        """Appends to both sides; `careful` writes no more than that to the front."""
        w = self.w
        fewer, more = self.count(below), self.count(above)
        front = w.point_to("%a", low, self.type)
        w.store(self.compressed(x, below), front, w.mask(fewer) if careful else None)
        w.store(self.compressed(x, above), w.point_to("%scratch", high, self.type))
        return w.i("add", low, fewer), w.i("add", high, more)

    def count(self, mask: Value) -> str:
        w = self.w
        word = f"i{w.lanes}"
        bits = w.raw(f"bitcast {w.register('i1')} {mask.ref} to {word}")
        w.declarations.add(f"declare {word} @llvm.ctpop.{word}({word})")
        ones = w.raw(f"call {word} @llvm.ctpop.{word}({word} {bits})")
        return w.raw(f"zext {word} {ones} to i64")

    def compressed(self, x: Value, mask: Value) -> Value:
        w = self.w
        register, flags = w.register(x.type), w.register("i1")
        name = f"llvm.experimental.vector.compress.v{w.lanes}{x.type}"
        w.declarations.add(
            f"declare {register} @{name}({register}, {flags}, {register})"
        )
        return w.emit(
            x.type,
            f"call {register} @{name}({register} {x.ref}, {flags} {mask.ref},"
            f" {register} poison)",
        )


def write_pivot(texts: Texts, bits: int, count: int) -> None:
    """`pivot<count>`: the median of `count` vectors of elements at equal distances."""
    lanes = lanes_of(bits)
    type = f"i{bits}"
    w = Function(lanes)
    buffer = w.raw(f"alloca [{lanes * count} x {type}], align 64")
    step = w.i("udiv", "%n", lanes * count)
    for number in range(count):
        at = w.add(w.lane_index("i64"), number * lanes)
        x = w.gather("%a", w.mul(at, w.broadcast(step, "i64")), type)
        w.store(x, w.point_to(buffer, str(number * lanes), type))
    w.line(f"call void @network{bits}_{count}(ptr {buffer}, i64 {lanes * count})")
    median = w.point_to(buffer, str(lanes * count // 2), type)
    found = w.raw(f"load {type}, ptr {median}")
    texts.add(w, f"pivot{bits}_{count}", "ptr %a, i64 %n", f"{type} {found}")


# ---------------------------------------------------------------------- quicksort

_QUICK = """
define internal void @quick_<T>(ptr %a.0, i64 %n.0, ptr %scratch, i64 %patience.0)
    nounwind {
entry:
  br label %top
top:
  %a = phi ptr [ %a.0, %entry ], [ %a.right, %halves ], [ %a.above, %equal ]
  %n = phi i64 [ %n.0, %entry ], [ %n.right, %halves ], [ %n.above, %equal ]
  %patience = phi i64 [ %patience.0, %entry ], [ %patience.next, %halves ],
    [ %patience.next, %equal ]
  %patience.next = sub i64 %patience, 1
  br label %size1
<SIZES>large:
  %worn = icmp slt i64 %patience, 0
  br i1 %worn, label %radix, label %sample
radix:
  call void @radix_<T>(ptr %a, i64 %n, ptr %scratch, <T> 0)
  br label %leave
sample:
  %many = icmp sgt i64 %n, 16384
  br i1 %many, label %careful, label %quick
careful:
  %median.16 = call <T> @pivot<BITS>_16(ptr %a, i64 %n)
  br label %divide
quick:
  %median.4 = call <T> @pivot<BITS>_4(ptr %a, i64 %n)
  br label %divide
divide:
  %pivot = phi <T> [ %median.16, %careful ], [ %median.4, %quick ]
  %left = call i64 @below_<T>(ptr %a, i64 %n, ptr %scratch, <T> %pivot)
  %none = icmp eq i64 %left, 0
  br i1 %none, label %equal, label %halves
equal:
  ; the pivot is the least element: all that equal it are in place
  %same = call i64 @upto_<T>(ptr %a, i64 %n, ptr %scratch, <T> %pivot)
  %a.above = getelementptr <T>, ptr %a, i64 %same
  %n.above = sub i64 %n, %same
  br label %top
halves:
  call void @quick_<T>(ptr %a, i64 %left, ptr %scratch, i64 %patience.next)
  %a.right = getelementptr <T>, ptr %a, i64 %left
  %n.right = sub i64 %n, %left
  br label %top
leave:
  ret void
}
"""

_SIZE = """size<R>:
  %fits.<R> = icmp sle i64 %n, <COUNT>
  br i1 %fits.<R>, label %network<R>, label %<NEXT>
network<R>:
  call void @network<BITS>_<R>(ptr %a, i64 %n)
  br label %leave
"""

_SORT = """
define dso_local void @<NAME>(ptr %a, i64 %n, ptr %scratch) nounwind {
entry:
  %some = icmp sgt i64 %n, 1
  br i1 %some, label %size, label %leave
size:
  %short = icmp sle i64 %n, <SHORT>
  br i1 %short, label %sort, label %check
check:
  %done = call i1 @sorted_<T>(ptr %a, i64 %n)
  br i1 %done, label %leave, label %sort
sort:
  ; twice as many levels as halving needs, and some
  %zeros = call i64 @llvm.ctlz.i64(i64 %n, i1 true)
  %levels = sub i64 68, %zeros
  %patience = shl i64 %levels, 1
  call void @quick_<T>(ptr %a, i64 %n, ptr %scratch, i64 %patience)
  br label %leave
leave:
  ret void
}
"""

_SPLIT = """
define dso_local i64 @<NAME>(ptr %a, i64 %n, ptr %scratch) nounwind {
entry:
  %worth = icmp sge i64 %n, <FROM>
  br i1 %worth, label %split, label %leave
split:
  %median = call <T> @pivot<BITS>_16(ptr %a, i64 %n)
  %pivot = and <T> %median, <MASK>
  %left = call i64 @below_<T>(ptr %a, i64 %n, ptr %scratch, <T> %pivot)
  br label %leave
leave:
  %count = phi i64 [ 0, %entry ], [ %left, %split ]
  ret i64 %count
}
"""


def _quick(bits: int) -> str:
    sizes = []
    for position, count in enumerate(REGISTERS):
        last = position + 1 == len(REGISTERS)
        following = "large" if last else f"size{REGISTERS[position + 1]}"
        values = {"R": count, "COUNT": lanes_of(bits) * count, "NEXT": following}
        sizes.append(sort_radix.fill(_SIZE, bits, **values))
    return sort_radix.fill(_QUICK, bits, SIZES="".join(sizes))


def module_text(bits: int) -> str:
    """The whole module for one width."""
    texts = Texts()
    texts.parts.append(sort_radix.parts(bits))
    signature = f"ptr %a, i64 %n, ptr %scratch, i{bits} %pivot"
    for count in REGISTERS:
        name = f"network{bits}_{count}"
        texts.add(Network(bits, count).w, name, "ptr %a, i64 %n")
    for name, predicate in (("below", "slt"), ("upto", "sle")):
        part = Partition(bits, predicate)
        texts.add(part.w, f"{name}_i{bits}", signature, f"i64 {part.low}")
    write_pivot(texts, bits, 4)
    write_pivot(texts, bits, 16)
    texts.parts.append(_quick(bits))
    fill = sort_radix.fill
    for kind in sort_radix.KINDS[bits]:
        sort, split = f"tetrad_sort_{kind}", f"tetrad_split_{kind}"
        # Records with the same code stay together: their pivots have no number.
        mask = -1 << sort_radix.FIRST_BIT[kind]
        texts.parts.append(fill(_SORT, bits, NAME=sort, SHORT=lanes_of(bits)))
        texts.parts.append(fill(_SPLIT, bits, NAME=split, FROM=SPLIT_FROM, MASK=mask))
    texts.declarations |= set(sort_radix.DECLARATIONS.strip().splitlines())
    texts.declarations.add("declare i64 @llvm.ctlz.i64(i64, i1)")
    return texts.text()
