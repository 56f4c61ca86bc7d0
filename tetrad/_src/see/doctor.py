"""`tetrad.see.doctor()`: what is installed and set, what is wrong with it, what to do.

Each section is found out by itself; what goes wrong there is written into the report, so
that it appears whatever is broken. Sections give rows, and add what is worth mending to
the list of problems. No plugin is started: that may take long, and take memory.
"""

from __future__ import annotations

import glob
import html
import importlib
import importlib.metadata
import importlib.util
import os
import platform
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tetrad._src.api import hardware, plugins
from tetrad._src.api.run import FOLLOWED_VERSION
from tetrad._src.runtime import device as registry
from tetrad._src.runtime import threads
from tetrad._src.runtime.ledger import UNLIMITED, human
from tetrad._src.util.config import config
from tetrad._src.util.settings import SETTINGS
from tetrad._src.util.words import nearest

PACKAGES = {  # distribution: what works only with it
    "numpy": "everything",
    "ml_dtypes": "everything",
    "llvmlite": "compiling for the CPU",
    "scipy-openblas32": "matrix products and decompositions",
    "opt_einsum": "jnp.einsum",
    "pypjrt": "",
    "jax": "",
}
FEATURES = ("sse4_2", "avx", "avx2", "fma", "f16c", "avx512f", "avx512bw", "avx512vl",
            "avx512_bf16", "avx512_fp16", "amx_tile", "asimd", "sve")  # fmt: skip
PREFIXES = ("TETRAD_", "JAX_", "XLA_", "PJRT_")
OTHERS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "CUDA_VISIBLE_DEVICES",
          "TPU_LIBRARY_PATH", "XDG_CACHE_HOME", "LD_LIBRARY_PATH", "LD_PRELOAD")  # fmt: skip
OWN = frozenset((
    "TETRAD_CACHE", "TETRAD_CACHE_DIR", "TETRAD_CHECK", "TETRAD_CPU",
    "TETRAD_FULL_TRACEBACK", "TETRAD_NUM_THREADS",
))  # fmt: skip
LITTLE = 1 << 30  # bytes of free memory below which programs are likely to fail

Row = tuple[str, str]


class Problem(NamedTuple):
    """Something that is worth mending."""

    what: str
    advice: str

    def __str__(self) -> str:
        return f"{self.what}. {self.advice}."


class Section(NamedTuple):
    """Rows about one thing, each with a name and a value."""

    title: str
    rows: list[Row]


class Doctor:
    """The report: `sections` with rows, and `problems` with advice."""

    def __init__(self) -> None:
        self.problems: list[Problem] = []
        self.sections = [self._section(title, find) for title, find in SECTIONS]

    def _section(self, title: str, find: Finder) -> Section:
        rows: list[Row] = []
        try:
            rows.extend(find(self))
        except Exception as error:
            rows.append(("", f"could not be found out: {_told(error)}"))
            self.note(f"{title} could not be found out", _told(error))
        return Section(title, rows)

    def note(self, what: str, advice: str) -> None:
        """Adds a problem."""
        self.problems.append(Problem(what, advice))

    @property
    def healthy(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def __str__(self) -> str:
        lines = []
        for section in self.sections:
            lines.append(section.title)
            wide = max([len(name) for name, _ in section.rows], default=0)
            lines += [f"  {name.ljust(wide)}  {value}" for name, value in section.rows]
            lines.append("")
        lines.append("problems" if self.problems else "no problems found")
        lines += [f"  {n}. {p}" for n, p in enumerate(self.problems, 1)]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        parts = []
        for section in self.sections:
            rows = "".join(
                f"<tr><th>{html.escape(name)}</th><td>{html.escape(value)}</td></tr>"
                for name, value in section.rows
            )
            parts.append(f"<h4>{html.escape(section.title)}</h4><table>{rows}</table>")
        items = "".join(f"<li>{html.escape(str(p))}</li>" for p in self.problems)
        parts.append(f"<h4>problems</h4><ol>{items or 'none found'}</ol>")
        return "".join(parts)


Finder = Callable[[Doctor], Iterator[Row]]


def _told(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}"


def _module(name: str) -> Any:
    """A part of the machine, which is not loaded before it is needed."""
    return importlib.import_module(f"tetrad._src.{name}")


# ------------------------------------------------------------------------------- sections


def _versions(report: Doctor) -> Iterator[Row]:
    own = _version("tetrad") or "not installed as a package"
    yield "tetrad", f"{own}, follows JAX {FOLLOWED_VERSION}"
    yield "from", str(Path(__file__).parents[2])
    kind = platform.python_implementation()
    yield "python", f"{platform.python_version()} ({kind}), {sys.executable}"
    for name, needed in PACKAGES.items():
        version = _version(name)
        yield name, version or "missing"
        if version is None and needed:
            report.note(
                f"{name} is missing, without which {needed} does not work",
                f"pip install {name}",
            )
    theirs = sys.modules.get("jax")
    if theirs is not None and theirs is not sys.modules.get("tetrad"):
        report.note(
            "jax itself is imported in this process, so `import jax` does not mean tetrad",
            "call tetrad.install_as_jax() before the first `import jax`, or run"
            " `python -m tetrad script.py`",
        )


def _version(name: str) -> str | None:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:
        return None


def _machine(report: Doctor) -> Iterator[Row]:
    yield "system", platform.platform()
    host = _module("cpu.native_host")
    flags = host.flags()
    yield "processor", f"{_processor_name()} ({host.machine()})"
    yield "features", ", ".join([f for f in FEATURES if f in flags]) or "not known"
    if host.machine() == "x86_64" and flags and "avx2" not in flags:
        report.note(
            "the processor has no AVX2, so vectors are narrow and programs slow",
            "in a virtual machine, let it pass the processor of the host through",
        )
    if host.requested_cpu():
        yield "compiled for", f"{host.requested_cpu()} (TETRAD_CPU)"
    total = _module("cpu.memory").machine_bytes()
    free = _available()
    memory = "not known" if total is None else human(total)
    yield "memory", memory if free is None else f"{memory}, {human(free)} free"
    if free is not None and free < LITTLE:
        report.note(
            f"only {human(free)} of memory are free",
            "end other programs, or set a limit with tetrad.set_memory_limit, so that an"
            " error names what fills the memory before the system ends the process",
        )


def _processor_name() -> str:
    try:
        with open("/proc/cpuinfo") as file:
            for line in file:
                if line.lower().startswith("model name"):
                    return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or "a processor"


def _available() -> int | None:
    try:
        with open("/proc/meminfo") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return 1024 * int(line.split()[1])
    except (OSError, ValueError):
        pass
    return None


def _threads(report: Doctor) -> Iterator[Row]:
    mine, all_of_them = threads.processors(), os.cpu_count()
    yield "processors", f"{mine} for this process, of {all_of_them}"
    count = threads.count()
    said = next((v for v in threads.VARIABLES if os.environ.get(v, "").strip()), None)
    yield "threads", f"{count}" + (f" ({said})" if said else "")
    if count == 1 < mine:
        report.note(
            f"one thread computes, of {mine} that could",
            f"unset {said}" if said else "tetrad.set_num_threads(n) sets the number",
        )
    if count > mine:
        report.note(
            f"{count} threads share {mine} processors and wait for each other",
            f"tetrad.set_num_threads({mine}) is as many as there are",
        )


def _blas(report: Doctor) -> Iterator[Row]:
    library = _module("cpu.blas").describe()
    yield "OpenBLAS", library["config"]
    yield "library", library["path"]


def _devices(report: Doctor) -> Iterator[Row]:
    yield "platforms", ", ".join(registry.platforms())
    yield "default", _default(report)
    for device in registry.made_devices():
        ledger = device.ledger
        limit = "" if ledger.limit == UNLIMITED else f" of {human(ledger.limit)}"
        held = f"{human(ledger.now)}{limit} in use, peak {human(ledger.peak)}"
        yield str(device), f"{device.device_kind}: {held}"


def _default(report: Doctor) -> str:
    try:
        return str(registry.default_placement().device)
    except Exception as error:
        report.note(
            "the default platform does not work",
            f"unset JAX_PLATFORMS or jax_default_device, or mend this: {error}",
        )
        return f"does not work: {_told(error)}"


def _plugins(report: Doctor) -> Iterator[Row]:
    speaks = importlib.util.find_spec("pypjrt") is not None
    yield "pypjrt", "installed" if speaks else "missing: pip install 'tetrad[pjrt]'"
    names = dict.fromkeys([*plugins.VENDORS, *plugins.named(), *_installed_plugins()])
    for name in registry.platforms():
        if name != "cpu" and name not in names:
            yield name, "registered by the program"
    for name in names:
        path, problem = plugins.find(name)
        seen = hardware.hardware(name)
        shown = f"; hardware: {', '.join(seen)}" if seen else ""
        yield name, (f"plugin {path}" if path else problem) + shown
        if path and not speaks:
            report.note(
                f"the plugin of {name} is installed, but pypjrt, which speaks to it, is not",
                "pip install 'tetrad[pjrt]'",
            )
        if seen and not path:
            hint = registry.hints.get(name, "")
            report.note(f"there is a {seen[0]}, but no plugin for {name}", hint)
    if os.environ.get("CUDA_VISIBLE_DEVICES", "0").strip() in ("", "-1"):
        report.note("CUDA_VISIBLE_DEVICES hides every GPU", "Unset it to use them")


def _installed_plugins() -> list[str]:
    """The platforms of packages `jax_plugins.<name>` that no vendor listed here has."""
    spec = importlib.util.find_spec("jax_plugins")
    roots = list(spec.submodule_search_locations or ()) if spec is not None else []
    found = [Path(p).name for root in roots for p in glob.glob(f"{root}/[a-z]*/")]
    known = [p for v in plugins.VENDORS.values() for p in v.packages]
    return [
        n for n in found if not any(p.startswith(f"jax_plugins.{n}") for p in known)
    ]


def _caches(report: Doctor) -> Iterator[Row]:
    engine, disk = _module("cpu.engine"), _module("cpu.native_cache")
    limit = human(config.tetrad_code_limit)
    yield "in memory", f"{human(engine.code_bytes())} of machine code, at most {limit}"
    place = disk.place()
    folder = disk.directory()
    if folder is not None:
        files = [e.stat().st_size for e in os.scandir(folder) if e.is_file()]
        writable = "writable" if os.access(folder, os.W_OK) else "not writable"
        size = f"{len(files)} files, {human(sum(files))}"
        yield "on disk", f"{folder}: {size}, {writable}"
        if writable != "writable":
            report.note(
                f"{folder} cannot be written, so each process compiles again",
                f"make it writable, or name another folder in {disk.DIRECTORY_VARIABLE}",
            )
        return
    if os.environ.get(disk.SWITCH_VARIABLE, "").strip() == "0":
        yield "on disk", f"off ({disk.SWITCH_VARIABLE}=0)"
        return
    yield "on disk", f"none: {place} is no folder of this user alone"
    report.note(
        f"{place} cannot hold the cache, so each process compiles again",
        f"make it a folder that only you can read and write (chmod 700), or name another"
        f" in {disk.DIRECTORY_VARIABLE}",
    )


def _settings(report: Doctor) -> Iterator[Row]:
    changed = {n: v for n, v in config.values.items() if v != SETTINGS[n].default}
    for name, value in changed.items():
        yield name, repr(value)
    if not changed:
        yield "", "all as they come"
    if config.jax_disable_jit:
        report.note(
            "jax_disable_jit is on: functions under jit run operation by operation",
            "Turn it off when you are done looking",
        )
    if config.jax_debug_nans or config.jax_debug_infs:
        report.note(
            "results are looked through for NaN or infinities, which makes programs slow",
            "Turn jax_debug_nans and jax_debug_infs off when you are done looking",
        )


def _environment(report: Doctor) -> Iterator[Row]:
    known = {name.upper() for name in SETTINGS}
    found = [n for n in sorted(os.environ) if n.startswith(PREFIXES) or n in OTHERS]
    for name in found:
        yield name, os.environ[name]
        if name.startswith(("TETRAD_", "JAX_")) and name not in known | OWN:
            meant = nearest(name, known | OWN)
            report.note(
                f"nothing reads the environment variable {name}",
                f"Did you mean {meant}?"
                if meant
                else "Unset it, or see docs/errors.md",
            )
    if not found:
        yield "", "no variable that matters is set"


SECTIONS: tuple[tuple[str, Finder], ...] = (
    ("versions", _versions),
    ("machine", _machine),
    ("threads", _threads),
    ("BLAS and LAPACK", _blas),
    ("devices", _devices),
    ("plugins for other devices", _plugins),
    ("compiled code", _caches),
    ("settings that were changed", _settings),
    ("environment", _environment),
)


def doctor() -> Doctor:
    """A report of the environment, with what is wrong and what to do about it.

    Versions, processor, threads, BLAS, devices, plugins found and why others are not,
    caches, changed settings, environment variables that matter, then problems with
    advice. It never fails: what cannot be found out is said. `problems` lists what is
    worth mending; `python -m tetrad --doctor` prints the same.

    >>> import tetrad as jax
    >>> report = jax.see.doctor()
    >>> [section.title for section in report.sections][:3]
    ['versions', 'machine', 'threads']
    """
    return Doctor()
