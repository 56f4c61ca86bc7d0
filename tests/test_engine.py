"""The engine: LLVM text to addresses, its caches, its loaders, its errors."""

from __future__ import annotations

import ctypes
import gc
import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import tetrad as jax
from tetrad._src.cpu import engine, native_cache, native_elf, native_llvm

INT = ctypes.c_int64

ADD = """
define dso_local i64 @add(i64 %a, i64 %b) nounwind {
  %r = add i64 %a, %b
  ret i64 %r
}
"""

EVERYTHING = """
declare double @cos(double)
declare i64 @test_double(i64)
@test_word = external global i64
@table = internal constant [4 x i64] [i64 10, i64 20, i64 30, i64 40]
@counter = internal global i64 5
@scratch = internal global [100 x i64] zeroinitializer, align 64
@exported = global i64 77

define dso_local i64 @count(i64 %i) nounwind {
  %p = getelementptr [4 x i64], ptr @table, i64 0, i64 %i
  %v = load i64, ptr %p
  %c = load i64, ptr @counter
  %c1 = add i64 %c, 1
  store i64 %c1, ptr @counter
  %q = getelementptr [100 x i64], ptr @scratch, i64 0, i64 99
  %z = load i64, ptr %q
  %s = add i64 %v, %c
  %r = add i64 %s, %z
  ret i64 %r
}

define dso_local double @cosine(double %x) nounwind {
  %r = call double @cos(double %x)
  ret double %r
}

define dso_local i64 @outside(i64 %x) nounwind {
  %d = call i64 @test_double(i64 %x)
  %w = load i64, ptr @test_word
  %r = add i64 %d, %w
  ret i64 %r
}

define dso_local ptr @where() nounwind {
  ret ptr @exported
}

define dso_local i64 @choose(i64 %x) nounwind {
entry:
  switch i64 %x, label %other [
    i64 0, label %a
    i64 1, label %b
    i64 2, label %c
    i64 3, label %d
    i64 4, label %e
  ]
a:
  ret i64 11
b:
  %r1 = call i64 @count(i64 0)
  ret i64 %r1
c:
  ret i64 5
d:
  ret i64 -7
e:
  ret i64 1000
other:
  ret i64 0
}
"""
NAMES = ("count", "cosine", "outside", "where", "choose")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cache"
    monkeypatch.setenv("TETRAD_CACHE_DIR", str(folder))
    engine.forget()
    return folder


def unique(text: str) -> str:
    """The text with a comment that no other test has."""
    unique.count += 1  # type: ignore[attr-defined]
    return f"{text}; {os.getpid()} {unique.count}\n"  # type: ignore[attr-defined]


unique.count = 0  # type: ignore[attr-defined]


def call(code: engine.Code, name: str, *arguments: int) -> int:
    function = engine.function(code[name], INT, *[INT] * len(arguments), gil=True)
    return function(*arguments)


def define_test_symbols() -> list[object]:
    twice = ctypes.CFUNCTYPE(INT, INT)(lambda x: 2 * x)
    word = INT(100)
    address = ctypes.cast(twice, ctypes.c_void_p).value
    assert address is not None
    engine.define_symbol("test_double", address)
    engine.define_symbol("test_word", ctypes.addressof(word))
    return [twice, word]


def check_everything(code: engine.Code) -> None:
    assert call(code, "count", 0) == 15
    assert call(code, "count", 3) == 46
    cosine = engine.function(
        code["cosine"], ctypes.c_double, ctypes.c_double, gil=False
    )
    assert cosine(0.5) == np.cos(0.5)
    assert call(code, "outside", 21) == 142
    assert INT.from_address(call(code, "where")).value == 77
    assert [call(code, "choose", i) for i in (0, 2, 3, 4, 9)] == [11, 5, -7, 1000, 0]


def test_sections_symbols_and_externals() -> None:
    kept = define_test_symbols()
    code = engine.assemble(unique(EVERYTHING), NAMES)
    check_everything(code)
    assert code.symbols["exported"] == call(code, "where")
    assert "table" not in code.symbols
    del kept


@pytest.mark.parametrize("opt", [0, 1, 3])
def test_levels_and_passes(opt: int) -> None:
    kept = define_test_symbols()
    check_everything(engine.assemble(unique(EVERYTHING), NAMES, opt=opt))
    check_everything(engine.assemble(unique(EVERYTHING), NAMES, passes=True))
    del kept


def test_the_general_linker(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "OWN_LOADER", False)
    kept = define_test_symbols()
    check_everything(engine.assemble(unique(EVERYTHING), NAMES))
    with pytest.raises(engine.LoadError):
        engine.assemble(
            "declare void @no_such_function()\n"
            "define dso_local void @f() {\n"
            "  call void @no_such_function()\n  ret void\n}\n",
            ["f"],
        )
    del kept


def test_public_compile_path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(native_llvm, "_raw_entry_points", lambda: None)
    code = engine.assemble(unique(ADD), ["add"])
    assert call(code, "add", 2, 3) == 5
    with pytest.raises(engine.CompileError, match="expected type"):
        engine.assemble(unique("define void @f( {"), ["f"])


def test_memory_cache() -> None:
    text = unique(ADD)
    before = len(engine.compiles)
    code = engine.assemble(text, ["add"])
    assert engine.assemble(text, ["add"]) is code
    record = engine.compiles[-1]
    assert len(engine.compiles) == before + 1
    assert record.names == ("add",)
    assert record.milliseconds > 0
    assert not record.from_disk
    assert engine.code_bytes() >= code.size > 0
    assert engine.forget() >= code.size
    assert engine.code_bytes() == 0
    again = engine.assemble(text, ["add"])
    assert again is not code
    assert engine.compiles[-1].from_disk
    assert call(code, "add", 1, 2) == call(again, "add", 1, 2) == 3


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc/self/maps")
def test_code_is_unmapped_with_its_last_reference() -> None:
    def mapped(address: int) -> bool:
        for line in Path("/proc/self/maps").read_text().splitlines():
            low, high = (int(word, 16) for word in line.split()[0].split("-"))
            if low <= address < high:
                return "x" in line.split()[1]
        return False

    code = engine.assemble(unique(ADD), ["add"])
    address = code["add"]
    engine.forget()
    gc.collect()
    assert mapped(address)
    assert call(code, "add", 4, 5) == 9
    del code
    gc.collect()
    assert not mapped(address)


def test_memory_cache_is_bounded() -> None:
    size = engine.assemble(unique(ADD), ["add"]).size
    engine.forget()
    before = jax.config.tetrad_code_limit
    jax.config.update("tetrad_code_limit", 3 * size)
    try:
        for _ in range(6):
            engine.assemble(unique(ADD), ["add"])
    finally:
        jax.config.update("tetrad_code_limit", before)
    assert engine.code_bytes() <= 3 * size


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        ("define void @f( {", engine.CompileError, "expected type"),
        (
            "define dso_local i32 @f() {\n  ret i64 0\n}\n",
            engine.CompileError,
            "ret i64 0",
        ),
        (
            "define dso_local i32 @f(i32 %a) {\nentry:\n  br label %x\nx:\n"
            "  %c = add i32 %b, 1\n  br label %y\ny:\n  %b = add i32 %a, 1\n"
            "  ret i32 %c\n}\n",
            engine.CompileError,
            "does not dominate",
        ),
        (
            "declare void @no_such_function()\ndefine dso_local void @f() {\n"
            "  call void @no_such_function()\n  ret void\n}\n",
            engine.LoadError,
            "no_such_function",
        ),
        (
            "@t = thread_local global i64 3\ndefine dso_local i64 @f() {\n"
            "  %v = load i64, ptr @t\n  ret i64 %v\n}\n",
            engine.LoadError,
            "thread-local",
        ),
        (ADD, engine.CompileError, "'f'; it defines add"),
    ],
)
def test_errors(text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        engine.assemble(unique(text), ["f"])


def test_damaged_objects_do_not_load() -> None:
    with pytest.raises(engine.LoadError):
        native_elf.load(b"not an object at all", engine.lookup_symbol)


def test_resolver_is_asked_once() -> None:
    asked = []

    def resolve(name: str) -> int | None:
        asked.append(name)
        return engine.lookup_symbol("cos")

    engine.add_resolver("test_prefix_", resolve)
    text = EVERYTHING.replace("@cos(", "@test_prefix_cos(")
    kept = define_test_symbols()
    for _ in range(2):
        check_everything(engine.assemble(unique(text), NAMES))
    assert asked == ["test_prefix_cos"]
    del kept


def test_threads_compile_at_once() -> None:
    same = unique(ADD)
    before = len(engine.compiles)
    results: list[int] = []

    def work(number: int) -> None:
        for round_ in range(5):
            mine = unique(ADD.replace("%a, %b", f"%a, {number * 100 + round_}"))
            results.append(call(engine.assemble(mine, ["add"]), "add", 0, 0))
            results.append(call(engine.assemble(same, ["add"]), "add", 1, 1))

    threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    expected = [n * 100 + r for n in range(4) for r in range(5)] + [2] * 20
    assert sorted(results) == sorted(expected)
    assert len(engine.compiles) == before + 21


def entries(folder: Path) -> list[Path]:
    return sorted(folder.glob("*"))


def test_disk_cache_is_private_and_small(own_cache: Path) -> None:
    engine.assemble(unique(ADD), ["add"])
    (entry,) = entries(own_cache)
    if hasattr(os, "geteuid"):
        assert own_cache.stat().st_mode & 0o777 == 0o700
        assert entry.stat().st_mode & 0o777 == 0o600
    assert entry.stat().st_size < 4096


@pytest.mark.parametrize("damage", ["cut", "empty", "bit", "foreign", "other key"])
def test_damaged_entries_are_misses(own_cache: Path, damage: str) -> None:
    text = unique(ADD)
    engine.assemble(text, ["add"])
    (entry,) = entries(own_cache)
    content = entry.read_bytes()
    engine.forget()
    if damage == "cut":
        entry.write_bytes(content[:-7])
    elif damage == "empty":
        entry.write_bytes(b"")
    elif damage == "bit":
        entry.write_bytes(content[:-9] + bytes([content[-9] ^ 1]) + content[-8:])
    elif damage == "foreign":
        entry.write_bytes(b"#!/bin/sh\n" * 500)
    else:
        engine.assemble(unique(ADD), ["add"])
        (other,) = (e for e in entries(own_cache) if e != entry)
        entry.write_bytes(other.read_bytes())
        engine.forget()
    code = engine.assemble(text, ["add"])
    assert not engine.compiles[-1].from_disk
    assert call(code, "add", 20, 22) == 42
    assert entry.read_bytes() == content  # written anew
    engine.forget()
    engine.assemble(text, ["add"])
    assert engine.compiles[-1].from_disk


def test_foreign_directories_and_switch(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own_cache.mkdir(mode=0o755)
    own_cache.chmod(0o755)
    text = unique(ADD)
    engine.assemble(text, ["add"])
    assert not entries(own_cache)
    own_cache.chmod(0o700)
    monkeypatch.setenv("TETRAD_CACHE", "0")
    engine.forget()
    engine.assemble(text, ["add"])
    assert not entries(own_cache)
    monkeypatch.delenv("TETRAD_CACHE")
    monkeypatch.setenv("TETRAD_CACHE_DIR", "/dev/null/nowhere")
    engine.forget()
    assert call(engine.assemble(text, ["add"]), "add", 1, 1) == 2


def test_least_recently_used_entries_go(own_cache: Path) -> None:
    own_cache.mkdir(mode=0o700)
    for number in range(10):
        path = own_cache / f"{number}.o"
        path.write_bytes(bytes(1000))
        os.utime(path, (number, number))
    abandoned = own_cache / "x.o.1.2.tmp"
    abandoned.write_bytes(b"half")
    os.utime(abandoned, (1, 1))
    native_cache.shrink(str(own_cache), 20_000)
    assert len(entries(own_cache)) == 10
    native_cache.shrink(str(own_cache), 8_000)
    assert [path.name for path in entries(own_cache)] == [
        f"{i}.o" for i in range(4, 10)
    ]


SECOND_PROCESS = """
import ctypes, sys
from tetrad._src.cpu import engine
code = engine.assemble(sys.argv[1], ["add"])
add = engine.function(code["add"], *[ctypes.c_int64] * 3, gil=True)
print(add(40, 2), engine.compiles[-1].from_disk, "llvmlite" in sys.modules)
"""


def run_python(script: str, *arguments: str, **variables: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments],
        capture_output=True,
        text=True,
        timeout=60,
        env={**os.environ, **variables},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_second_process_needs_no_llvm() -> None:
    text = unique(ADD)
    engine.assemble(text, ["add"])
    answer = run_python(SECOND_PROCESS, text)
    assert answer == ("42 True False" if engine.OWN_LOADER else "42 True True")


def test_another_cpu_is_another_entry() -> None:
    text = unique(ADD)
    engine.assemble(text, ["add"])
    answer = run_python(SECOND_PROCESS, text, TETRAD_CPU="x86-64")
    assert answer == "42 False True"
    answer = run_python(SECOND_PROCESS, text, TETRAD_CPU="x86-64")
    assert answer == "42 True False"


def test_concurrent_writers(own_cache: Path) -> None:
    texts = [unique(ADD) for _ in range(12)]
    script = """
import ctypes, sys
from tetrad._src.cpu import engine
for text in sys.argv[1:]:
    code = engine.assemble(text, ["add"])
    assert engine.function(code["add"], *[ctypes.c_int64] * 3, gil=True)(1, 2) == 3
"""
    processes = [
        subprocess.Popen([sys.executable, "-c", script, *texts]) for _ in range(3)
    ]
    assert [process.wait(60) for process in processes] == [0, 0, 0]
    assert len(entries(own_cache)) == len(texts)
    assert all(path.suffix == ".o" for path in entries(own_cache))


def test_vector_bits() -> None:
    assert engine.vector_bits() in (128, 256, 512)
    script = "from tetrad._src.cpu import engine; print(engine.vector_bits())"
    for cpu, bits in (("x86-64", "128"), ("x86-64-v3", "256"), ("x86-64-v4", "512")):
        assert run_python(script, TETRAD_CPU=cpu) == bits


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_child_of_fork_compiles() -> None:
    engine.assemble(unique(ADD), ["add"])
    text = unique(ADD)
    child = os.fork()
    if child == 0:
        try:
            answer = call(engine.assemble(text, ["add"]), "add", 3, 4)
            os._exit(0 if answer == 7 else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


HALVES = """
import ctypes, numpy as np
from tetrad._src.cpu import engine
def convert(op, source, target, x, out):
    text = f'''
define dso_local void @f(ptr %p, ptr %q, i64 %n) nounwind {{
entry:
  br label %l
l:
  %i = phi i64 [ 0, %entry ], [ %i1, %l ]
  %pp = getelementptr {source}, ptr %p, i64 %i
  %qq = getelementptr {target}, ptr %q, i64 %i
  %x = load {source}, ptr %pp
  %y = {op} {source} %x to {target}
  store {target} %y, ptr %qq
  %i1 = add i64 %i, 1
  %c = icmp slt i64 %i1, %n
  br i1 %c, label %l, label %e
e:
  ret void
}}'''
    code = engine.assemble(text, ["f"])
    p = ctypes.c_void_p
    f = engine.function(code["f"], None, p, p, ctypes.c_int64, gil=True)
    f(x.ctypes.data, out.ctypes.data, x.size)
    return out
every = np.arange(65536, dtype=np.uint16).view(np.float16)
for name, kind in (("float", np.float32), ("double", np.float64)):
    wide = convert("fpext", "half", name, every, np.empty(65536, kind))
    np.testing.assert_array_equal(wide, every.astype(kind))
    number = np.sort(every[np.isfinite(every)]).astype(kind)
    middle = (number[:-1] + number[1:]) / 2
    around = [np.nextafter(middle, kind(s * np.inf)) for s in (-1, 1)]
    edge = np.array([65519.99, 65520, 1e6, np.inf, -np.inf, np.nan, 1e-9, -0.0], kind)
    x = np.concatenate([number, middle, *around, edge])
    out = convert("fptrunc", name, "half", x, np.empty(x.size, np.float16))
    with np.errstate(all="ignore"):
        np.testing.assert_array_equal(out, x.astype(np.float16))
x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
out = convert("fptrunc", "float", "bfloat", x, np.empty(1000, np.uint16))
bits = x.view(np.uint32).astype(np.uint64)
np.testing.assert_array_equal(out, (bits + 0x7FFF + (bits >> 16 & 1)) >> 16)
print("same")
"""


@pytest.mark.skipif(not engine.OWN_LOADER, reason="the builtins are our loader's")
def test_half_conversions_of_an_old_processor() -> None:
    assert run_python(HALVES, TETRAD_CPU="x86-64") == "same"
