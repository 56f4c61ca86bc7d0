"""Convolutions as matrix products of patches, gathered a block at a time.

In: an image with its features last, or what takes its place (see `Patches` in the
operations). Patches of a few hundred places are gathered into scratch memory that stays in
the cache, multiplied by BLAS, and forgotten. A task has its own scratch, and a run of blocks.

slide    gathers patches and multiplies them with the weights.
weights  gathers patches and adds their products with another operand; each task has its
         own sum, and a second launch adds these up. How many there are depends on the
         extents alone, so that the result does not depend on the threads.
spread   multiplies first and adds the patches to the image; a task has whole images.

Every axis is one of three (depth, height, width); missing ones have extent 1.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from tetrad._src.core.avals import Aval
from tetrad._src.cpu import blas, schedule
from tetrad._src.cpu.kernels.base import In, KernelCall, Launch, Operand, Out, Tmp
from tetrad._src.cpu.literals import element_type
from tetrad._src.cpu.llvm import Writer, module
from tetrad._src.cpu.registers import SIZE

BLOCK = 1 << 18  # bytes of patches that are gathered at once
SUMS = 8  # partial sums of weights, at most
TASKS = 32  # runs of blocks that slides are split into, at most

# The words that every function begins with, in this order.
GEOMETRY = (
    *("image_d", "image_h", "image_w", "channels"),
    *("kernel_d", "kernel_h", "kernel_w"),
    *("places_d", "places_h", "places_w"),
    *("stride_d", "stride_h", "stride_w"),
    *("dilation_d", "dilation_h", "dilation_w"),
    *("low_d", "low_h", "low_w"),
    "width",  # channels of a group
    "groups",
    "made",  # features of the other operand
    "block",  # places in a block
    "blocks",  # blocks of an image
    "images",
    "run",  # blocks (spread: images) of a task
    "scratch_bytes",  # of a task
)


class Geometry(NamedTuple):
    """The words of a call by name."""

    words: dict[str, int]

    @property
    def taps(self) -> int:
        w = self.words
        return w["kernel_d"] * w["kernel_h"] * w["kernel_w"]

    @property
    def places(self) -> int:
        w = self.words
        return w["places_d"] * w["places_h"] * w["places_w"]


def _three(extents: Any, fill: int = 1) -> tuple[int, ...]:
    return (fill,) * (3 - len(extents)) + tuple(extents)


def build(parameters: Any, operands: list[Operand], results: list[Aval]) -> KernelCall:
    """The kernel `patches`."""
    form, how, groups = (parameters[name] for name in ("form", "how", "groups"))
    first, out = operands[0].aval, results[0]
    spread = form == "spread"
    image = out if spread else first
    places = first.shape[1:-1] if spread else parameters["extents"]
    made = first.shape[-1] if spread else out.shape[-1]
    words: dict[str, int] = {}

    def name(prefix: str, values: Any) -> None:
        for axis, value in zip("dhw", values):
            words[f"{prefix}_{axis}"] = value

    name("image", _three(image.shape[1:-1]))
    name("kernel", _three(how.window_dimensions))
    name("places", _three(places))
    name("stride", _three(how.window_strides))
    name("dilation", _three(how.window_dilation))
    name("low", _three([low for low, _ in how.padding], 0))
    channels = image.shape[-1]
    words |= {"channels": channels, "width": channels // groups, "groups": groups}
    words |= {"made": made, "images": image.shape[0]}
    return _launched(form, Geometry(words), element_type(first.dtype))


def _launched(form: str, geometry: Geometry, type: str) -> KernelCall:
    words, size = geometry.words, SIZE[type]
    row = geometry.taps * words["width"]  # elements of a patch of one group
    block = max(16, min(BLOCK // (row * size) // 16 * 16, geometry.places))
    blocks = -(-geometry.places // block)
    words |= {"block": block, "blocks": blocks}
    work = blocks * words["images"]
    if form == "spread":
        tasks = words["images"]
    else:
        tasks = min(work, SUMS if form == "weights" else TASKS)
    words["run"] = -(-(words["images"] if form == "spread" else work) // max(tasks, 1))
    scratch = row * block * size + 127 & -128
    words["scratch_bytes"] = scratch
    for value in words.values():
        if value > blas.INT_LIMIT:
            raise NotImplementedError("a convolution with an extent above 2^31 - 1")
    total = row * words["made"]  # elements of the weights
    head: list[Any] = [words[name] for name in GEOMETRY]
    temporaries = [scratch * tasks]
    flops = 2.0 * geometry.places * words["images"] * total
    cost = flops / {"f32": 60.0, "f64": 30.0}[type] + 2000.0
    text = _text(type, form)
    if form == "weights":
        temporaries.append(total * size * tasks)
        launches = [
            Launch(form, (*head, Tmp(0), In(0), In(1), Tmp(1)), tasks),
            Launch("sums", (tasks, total, Tmp(1), Out(0)), total, 4096),
        ]
        return KernelCall(text, (form, "sums"), launches, temporaries, cost)
    launches = [Launch(form, (*head, Tmp(0), In(0), In(1), Out(0)), tasks)]
    return KernelCall(text, (form,), launches, temporaries, cost)


# ------------------------------------------------------------------------- the text


@functools.cache
def _text(type: str, form: str) -> str:
    if form == "weights":
        return module([(form, _gathering(form, type)), ("sums", _sums(type))])
    spread = form == "spread"
    return module([(form, _spread(type) if spread else _gathering(form, type))])


class _Line(NamedTuple):
    """A line of taps: the image, the line in it, the part of the patch, the column of the
    first tap, and whether the line is inside of the image."""

    image: str
    line: str
    part: str
    origin: str
    inside: str


class _Function:
    """A function in the making, with its words by name."""

    def __init__(self, type: str) -> None:
        self.type = type
        self.w = w = Writer(1)
        self.at = {name: w.word() for name in GEOMETRY}
        self.scratch, self.first, self.second, self.out = (
            w.word("ptr") for _ in range(4)
        )
        self.size = SIZE[type]
        i = w.i
        self.taps = i(
            "mul", i("mul", self["kernel_d"], self["kernel_h"]), self["kernel_w"]
        )
        self.row = i("mul", self.taps, self["width"])
        self.flat = i("mul", self["places_h"], self["places_w"])
        self.places = i("mul", self["places_d"], self.flat)
        volume = i("mul", i("mul", self["image_d"], self["image_h"]), self["image_w"])
        self.image = i("mul", volume, self["channels"])

    def __getitem__(self, name: str) -> str:
        return self.at[name]

    def point(self, pointer: str, index: str) -> str:
        return self.w.point_to(pointer, index, self.type)

    def own_scratch(self, task: str) -> str:
        return self.w.point_to(
            self.scratch, self.w.i("mul", task, self["scratch_bytes"]), "u8"
        )

    def gemm(
        self,
        sizes: tuple[str, str, str],
        a: str,
        lda: str,
        b: str,
        ldb: str,
        c: str,
        ldc: str,
        *,
        turned: bool = False,
        beta: str = "0.0",
    ) -> None:
        """C = op(A)·B + beta·C, row by row."""
        w = self.w
        real = "float" if self.type == "f32" else "double"
        letter = "s" if self.type == "f32" else "d"
        name = f"{blas.PREFIX}cblas_{letter}gemm"
        w.declarations.add(
            f"declare void @{name}(i32, i32, i32, i32, i32, i32, {real}, ptr, i32, ptr,"
            f" i32, {real}, ptr, i32)"
        )
        m, n, k = (self.narrow(x) for x in sizes)
        lda, ldb, ldc = (self.narrow(x) for x in (lda, ldb, ldc))
        form = 112 if turned else 111
        w.line(
            f"call void @{name}(i32 101, i32 {form}, i32 111, i32 {m}, i32 {n}, i32 {k},"
            f" {real} 1.0, ptr {a}, i32 {lda}, ptr {b}, i32 {ldb}, {real} {beta}, ptr {c},"
            f" i32 {ldc})"
        )

    def narrow(self, x: str) -> str:
        return self.w.raw(f"trunc i64 {x} to i32")

    def visit(self, image: str, buffer: str, low: str, high: str, add: bool) -> None:
        """Moves the patches of the places low … high: into the buffer, or, if `add`, from
        there to the image.

        `image` points to the first feature of a group. Taps of a row that lie side by
        side are moved at once.
        """
        w = self.w
        i = w.i
        whole = w.raw(f"icmp eq i64 {self['width']}, {self['channels']}")
        dense = w.raw(f"icmp eq i64 {self['dilation_w']}, 1")
        runs = w.raw(f"and i1 {whole}, {dense}")
        place = w.begin(low, high, 1)
        d = i("udiv", place.index, self.flat)
        rest = i("sub", place.index, i("mul", d, self.flat))
        h = i("udiv", rest, self["places_w"])
        v = i("sub", rest, i("mul", h, self["places_w"]))
        origin = {
            axis: i("sub", i("mul", at, self[f"stride_{axis}"]), self[f"low_{axis}"])
            for axis, at in zip("dhw", (d, h, v))
        }
        row = self.point(buffer, i("mul", i("sub", place.index, low), self.row))
        depth = w.begin("0", self["kernel_d"], 1)
        at_d = i("add", origin["d"], i("mul", depth.index, self["dilation_d"]))
        height = w.begin("0", self["kernel_h"], 1)
        at_h = i("add", origin["h"], i("mul", height.index, self["dilation_h"]))
        inside_d = w.raw(f"icmp ult i64 {at_d}, {self['image_d']}")
        inside_h = w.raw(f"icmp ult i64 {at_h}, {self['image_h']}")
        inside = w.raw(f"and i1 {inside_d}, {inside_h}")
        line = i("add", i("mul", at_d, self["image_h"]), at_h)
        line = i("mul", i("mul", line, self["image_w"]), self["channels"])
        tap = i("add", i("mul", depth.index, self["kernel_h"]), height.index)
        tap = i("mul", i("mul", tap, self["kernel_w"]), self["width"])
        part = self.point(row, tap)

        row_of = _Line(image, line, part, origin["w"], inside)
        w.choose(
            runs, lambda: self.several(row_of, add), lambda: self.each(row_of, add)
        )
        w.end(height)
        w.end(depth)
        w.end(place)

    def several(self, at: _Line, add: bool) -> None:
        """The taps of a line at once: those inside cover one run of the image."""
        w = self.w
        i = w.i
        below = w.larger_index(i("sub", "0", at.origin), "0")
        start = w.smaller_index(below, self["kernel_w"])
        above = i("sub", self["image_w"], at.origin)
        stop = w.larger_index(w.smaller_index(above, self["kernel_w"]), start)
        stop = w.raw(f"select i1 {at.inside}, i64 {stop}, i64 {start}")
        left = i("mul", start, self["width"])
        count = i("mul", i("sub", stop, start), self["width"])
        column = i("mul", i("add", at.origin, start), self["channels"])
        source = self.point(at.image, i("add", at.line, column))
        if add:
            self.add(source, self.point(at.part, left), count)
            return
        right = i("mul", i("sub", self["kernel_w"], stop), self["width"])
        self.zero(at.part, left)
        self.copy(self.point(at.part, left), source, count)
        self.zero(self.point(at.part, i("mul", stop, self["width"])), right)

    def each(self, at: _Line, add: bool) -> None:
        """The taps of a line one by one."""
        w = self.w
        i = w.i
        tap = w.begin("0", self["kernel_w"], 1)
        column = i("add", at.origin, i("mul", tap.index, self["dilation_w"]))
        inside = w.raw(f"icmp ult i64 {column}, {self['image_w']}")
        good = w.raw(f"and i1 {at.inside}, {inside}")
        place = i("add", at.line, i("mul", column, self["channels"]))
        source = self.point(at.image, place)
        target = self.point(at.part, i("mul", tap.index, self["width"]))
        if add:
            with w.when(good):
                self.add(source, target, self["width"])
        else:
            w.choose(
                good,
                lambda: self.copy(target, source, self["width"]),
                lambda: self.zero(target, self["width"]),
            )
        w.end(tap)

    def copy(self, target: str, source: str, count: str) -> None:
        w = self.w
        w.declarations.add("declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)")
        size = w.i("mul", count, self.size)
        w.line(
            f"call void @llvm.memcpy.p0.p0.i64(ptr {target}, ptr {source}, i64 {size},"
            " i1 false)"
        )

    def zero(self, target: str, count: str) -> None:
        w = self.w
        w.declarations.add("declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)")
        size = w.i("mul", count, self.size)
        w.line(
            f"call void @llvm.memset.p0.i64(ptr {target}, i8 0, i64 {size}, i1 false)"
        )

    def add(self, target: str, source: str, count: str) -> None:
        """Adds elements to others."""
        w = self.w
        loop = w.begin("0", count, 1)
        x = w.load(self.point(target, loop.index), self.type)
        y = w.load(self.point(source, loop.index), self.type)
        w.store(x + y, self.point(target, loop.index))
        w.end(loop)

    def blocks(self) -> tuple[Any, str, str, str]:
        """A loop over the blocks of a task: the loop, the image, and the places."""
        w = self.w
        i = w.i
        total = i("mul", self["images"], self["blocks"])
        start = w.smaller_index(i("mul", "%lo", self["run"]), total)
        stop = w.smaller_index(i("mul", "%hi", self["run"]), total)
        loop = w.begin(start, stop, 1)
        image = i("udiv", loop.index, self["blocks"])
        number = i("sub", loop.index, i("mul", image, self["blocks"]))
        low = i("mul", number, self["block"])
        high = w.smaller_index(i("add", low, self["block"]), self.places)
        return loop, image, low, high


def _gathering(form: str, type: str) -> Writer:
    """The functions that gather patches: "slide" and "weights"."""
    f = _Function(type)
    w = f.w
    i = w.i
    weights = form == "weights"
    sums = f.out
    if weights:
        total = i("mul", f.row, f["made"])
        sums = f.point(f.out, i("mul", "%lo", total))
        f.zero(sums, total)
    loop, image, low, high = f.blocks()
    buffer = f.own_scratch("%lo")
    pixels = f.point(f.first, i("mul", image, f.image))
    before = i("mul", i("add", i("mul", image, f.places), low), f["made"])
    made = i("udiv", f["made"], f["groups"])
    group = w.begin("0", f["groups"], 1)
    part = f.point(pixels, i("mul", group.index, f["width"]))
    f.visit(part, buffer, low, high, False)
    columns = i("mul", group.index, made)
    count = i("sub", high, low)
    here = i("add", before, columns)
    if weights:
        sizes = (f.row, made, count)
        other, result = f.point(f.second, here), f.point(sums, columns)
    else:
        sizes = (count, made, f.row)
        other, result = f.point(f.second, columns), f.point(sums, here)
    beta = "1.0" if weights else "0.0"
    wide = f["made"]
    f.gemm(sizes, buffer, f.row, other, wide, result, wide, turned=weights, beta=beta)
    w.end(group)
    w.end(loop)
    return w


def _sums(type: str) -> Writer:
    """Adds up the partial sums. Words: how many, elements of one, sums, result."""
    lanes = schedule.lanes(type == "f64")
    w = Writer(lanes)
    count, total = w.word(), w.word()
    parts, out = w.word("ptr"), w.word("ptr")
    loop = w.begin("%lo", "%hi", lanes)
    mask = w.mask(w.i("sub", "%hi", loop.index))
    inner = w.begin("0", count, 1, [(w.register(type), "zeroinitializer")])
    before = w.value(inner.carried[0], type)
    at = w.i("add", w.i("mul", inner.index, total), loop.index)
    x = w.load(w.point_to(parts, at, type), type, mask)
    w.end(inner, [(before + x).ref])
    w.store(before, w.point_to(out, loop.index, type), mask)
    w.end(loop)
    return w


def _spread(type: str) -> Writer:
    f = _Function(type)
    w = f.w
    i = w.i
    start = w.smaller_index(i("mul", "%lo", f["run"]), f["images"])
    stop = w.smaller_index(i("mul", "%hi", f["run"]), f["images"])
    buffer = f.own_scratch("%lo")
    taken = i("udiv", f["made"], f["groups"])  # features of y in a group
    image = w.begin(start, stop, 1)
    pixels = f.point(f.out, i("mul", image.index, f.image))
    f.zero(pixels, f.image)
    block = w.begin("0", f["blocks"], 1)
    low = i("mul", block.index, f["block"])
    high = w.smaller_index(i("add", low, f["block"]), f.places)
    before = i("add", i("mul", image.index, f.places), low)
    y = f.point(f.first, i("mul", before, f["made"]))
    group = w.begin("0", f["groups"], 1)
    weights = i("mul", group.index, i("mul", taken, f.row))
    f.gemm(
        (i("sub", high, low), f.row, taken),
        f.point(y, i("mul", group.index, taken)),
        f["made"],
        f.point(f.second, weights),
        f.row,
        buffer,
        f.row,
    )
    f.visit(f.point(pixels, i("mul", group.index, f["width"])), buffer, low, high, True)
    w.end(group)
    w.end(block)
    w.end(image)
    return w
