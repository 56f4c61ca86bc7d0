"""A loader for x86-64 ELF object files: bytes of one object in, addresses out.

LLVM writes a relocatable object; this module copies its sections into one mapping,
resolves names, applies relocations and makes the code executable. It takes a tenth of
the time of a general JIT linker and needs no LLVM, so an object from the disk cache
runs without loading LLVM at all. Read `load` first; the helpers follow its order.

Layout of the mapping: code and constants, then a jump stub for every external symbol
(the stub's address word doubles as its GOT entry), then GOT entries of local symbols,
then, from a page boundary on, the writable sections.
"""

from __future__ import annotations

import ctypes
import mmap
import struct
from collections.abc import Callable
from typing import NamedTuple

PAGE = mmap.PAGESIZE

SHT_SYMTAB = 2
SHT_RELA = 4
SHT_NOBITS = 8
SHT_X86_64_UNWIND = 0x70000001
SHF_WRITE = 1
SHF_ALLOC = 2
SHF_TLS = 0x400
SHN_UNDEF = 0
SHN_ABS = 0xFFF1
SHN_COMMON = 0xFFF2
STB_LOCAL = 0

R_X86_64_64 = 1
R_X86_64_PC32 = 2
R_X86_64_PLT32 = 4
R_X86_64_GOTPCREL = 9
R_X86_64_PC64 = 24
R_X86_64_GOTPCRELX = 41
R_X86_64_REX_GOTPCRELX = 42
GOT_RELOCATIONS = (R_X86_64_GOTPCREL, R_X86_64_GOTPCRELX, R_X86_64_REX_GOTPCRELX)

STUB = b"\xff\x25\x02\x00\x00\x00\x90\x90"  # jmp *2(%rip); nop; nop; then the address
STUB_SIZE = 16

PROT_READ_WRITE = 3
PROT_READ_EXECUTE = 5
MAP_PRIVATE_ANONYMOUS = 0x22


class LoadError(RuntimeError):
    """An object file that cannot be loaded: damaged, or using an unsupported feature."""


class LoadedObject(NamedTuple):
    """One mapped object: where it lies, how large it is, its global symbols."""

    base: int
    size: int
    symbols: dict[str, int]


class _Section(NamedTuple):
    name: int
    type: int
    flags: int
    address: int
    offset: int
    size: int
    link: int
    info: int
    align: int
    entry_size: int


class _Symbol(NamedTuple):
    name: str
    binding: int
    section: int
    value: int


class _Layout(NamedTuple):
    places: dict[int, int]  # section index -> offset in the mapping
    stubs: dict[int, int]  # symbol index -> offset of its jump stub
    got: dict[int, int]  # symbol index -> offset of its GOT word
    read_only: int  # bytes of the part that becomes executable
    size: int


_libc = ctypes.CDLL(None, use_errno=True) if hasattr(mmap, "MAP_PRIVATE") else None


def load(data: bytes, resolve: Callable[[str], int]) -> LoadedObject:
    """Map the object file `data`; `resolve` gives the address of an external name."""
    sections = _read_sections(data)
    symbols = _read_symbols(data, sections)
    relocations = _read_relocations(data, sections)
    layout = _lay_out(sections, symbols, relocations)
    image = bytearray(layout.size)
    for index, place in layout.places.items():
        section = sections[index]
        if section.type != SHT_NOBITS:
            content = data[section.offset : section.offset + section.size]
            image[place : place + section.size] = content
    external = {}
    for index, offset in layout.stubs.items():
        address = resolve(symbols[index].name)
        external[index] = address
        image[offset : offset + STUB_SIZE] = STUB + struct.pack("<Q", address)
    base = _map(layout.size)
    try:
        _relocate(image, base, symbols, relocations, layout, external)
        ctypes.memmove(base, bytes(image), layout.size)
        _make_executable(base, layout.read_only)
    except BaseException:
        unload(base, layout.size)
        raise
    table = {}
    for symbol in symbols:
        if symbol.binding != STB_LOCAL and symbol.section in layout.places:
            place = layout.places[symbol.section]
            table[symbol.name] = base + place + symbol.value
    return LoadedObject(base, layout.size, table)


def unload(base: int, size: int) -> None:
    """Unmap an object; nothing may run or point into it any more."""
    libc = _require_libc()
    libc.munmap(ctypes.c_void_p(base), ctypes.c_size_t(size))


def _read_sections(data: bytes) -> list[_Section]:
    if data[:6] != b"\x7fELF\x02\x01" or data[18:20] != b"\x3e\x00":
        raise LoadError("not a little-endian x86-64 ELF object")
    (table,) = struct.unpack_from("<Q", data, 0x28)
    entry, count = struct.unpack_from("<HH", data, 0x3A)
    rows = []
    for index in range(count):
        row = struct.unpack_from("<IIQQQQIIQQ", data, table + index * entry)
        rows.append(_Section(*row))
    return rows


def _read_symbols(data: bytes, sections: list[_Section]) -> list[_Symbol]:
    table = next((s for s in sections if s.type == SHT_SYMTAB), None)
    if table is None:
        return []
    strings = sections[table.link].offset
    rows = data[table.offset : table.offset + table.size]
    symbols = []
    for name, info, _, section, value, _ in struct.iter_unpack("<IBBHQQ", rows):
        start = strings + name
        text = data[start : data.index(b"\0", start)].decode()
        symbols.append(_Symbol(text, info >> 4, section, value))
    return symbols


def _is_loaded(section: _Section) -> bool:
    if section.flags & SHF_TLS:
        raise LoadError("thread-local variables are not supported in compiled code")
    wanted = section.flags & SHF_ALLOC and section.size
    return bool(wanted) and section.type != SHT_X86_64_UNWIND


def _read_relocations(
    data: bytes, sections: list[_Section]
) -> list[tuple[int, int, int, int, int]]:
    """Rows (section, offset in it, kind, symbol index, addend) of loaded sections."""
    rows = []
    for section in sections:
        if section.type != SHT_RELA or not _is_loaded(sections[section.info]):
            continue
        table = data[section.offset : section.offset + section.size]
        for offset, info, addend in struct.iter_unpack("<QQq", table):
            rows.append((section.info, offset, info & 0xFFFFFFFF, info >> 32, addend))
    return rows


def _round_up(value: int, step: int) -> int:
    return -(-value // step) * step


def _lay_out(
    sections: list[_Section],
    symbols: list[_Symbol],
    relocations: list[tuple[int, int, int, int, int]],
) -> _Layout:
    places: dict[int, int] = {}
    writable = []
    offset = 0
    for index, section in enumerate(sections):
        if not _is_loaded(section):
            continue
        if section.flags & SHF_WRITE:
            writable.append(index)
            continue
        offset = _round_up(offset, max(section.align, 1))
        places[index] = offset
        offset += section.size
    offset = _round_up(offset, STUB_SIZE)
    stubs: dict[int, int] = {}
    got: dict[int, int] = {}
    for _, _, kind, index, _ in relocations:
        if symbols[index].section == SHN_UNDEF:
            if index not in stubs:
                stubs[index] = offset
                got[index] = offset + len(STUB)
                offset += STUB_SIZE
        elif kind in GOT_RELOCATIONS and index not in got:
            got[index] = offset
            offset += STUB_SIZE
    read_only = offset = _round_up(offset, PAGE)
    for index in writable:
        section = sections[index]
        offset = _round_up(offset, max(section.align, 1))
        places[index] = offset
        offset += section.size
    return _Layout(places, stubs, got, read_only, max(_round_up(offset, PAGE), PAGE))


def _relocate(
    image: bytearray,
    base: int,
    symbols: list[_Symbol],
    relocations: list[tuple[int, int, int, int, int]],
    layout: _Layout,
    external: dict[int, int],
) -> None:
    for section, position, kind, index, addend in relocations:
        symbol = symbols[index]
        place = layout.places[section] + position
        if symbol.section == SHN_ABS:
            target = symbol.value
        elif symbol.section == SHN_UNDEF:
            target = external[index]
        elif symbol.section in layout.places:
            target = base + layout.places[symbol.section] + symbol.value
        else:
            raise LoadError(f"{symbol.name!r} lies in a section that is not loaded")
        if kind == R_X86_64_64:
            value = (target + addend) & 0xFFFFFFFFFFFFFFFF
            struct.pack_into("<Q", image, place, value)
        elif kind in (R_X86_64_PC32, R_X86_64_PLT32):
            if index in layout.stubs:
                target = base + layout.stubs[index]
            _pack_relative(image, place, target + addend - (base + place))
        elif kind in GOT_RELOCATIONS:
            word = layout.got[index]
            struct.pack_into("<Q", image, word, target)
            _pack_relative(image, place, word + addend - place)
        elif kind == R_X86_64_PC64:
            struct.pack_into("<q", image, place, target + addend - (base + place))
        else:
            raise LoadError(f"relocation kind {kind} (of {symbol.name!r})")


def _pack_relative(image: bytearray, place: int, distance: int) -> None:
    try:
        struct.pack_into("<i", image, place, distance)
    except struct.error:
        raise LoadError("a relative address does not fit 32 bits") from None


def _require_libc() -> ctypes.CDLL:
    if _libc is None:
        raise LoadError("this system has no mmap")
    return _libc


def _map(size: int) -> int:
    libc = _require_libc()
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [
        ctypes.c_void_p,
        ctypes.c_size_t,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_int,
        ctypes.c_long,
    ]
    base = libc.mmap(None, size, PROT_READ_WRITE, MAP_PRIVATE_ANONYMOUS, -1, 0)
    if base is None or base == ctypes.c_void_p(-1).value:
        raise MemoryError(f"cannot map {size} bytes for machine code")
    return int(base)


def _make_executable(base: int, size: int) -> None:
    libc = _require_libc()
    if size and libc.mprotect(
        ctypes.c_void_p(base), ctypes.c_size_t(size), PROT_READ_EXECUTE
    ):
        number = ctypes.get_errno()
        raise LoadError(f"the system refuses executable memory (errno {number})")
