"""What is missing, and what is wrong: `tetrad.require`, `see.doctor`."""

import builtins
import importlib
import os
import subprocess
import sys

import numpy as np
import pytest
from plugin import PLATFORM, needs_plugin
from several import cpu_devices

import tetrad
import tetrad as jax
from tetrad._src.api import hardware, plugins
from tetrad._src.see import doctor as module

TITLES = [title for title, _ in module.SECTIONS]


def rows(report, title):
    (section,) = [s for s in report.sections if s.title == title]
    return dict(section.rows)


def whats(report):
    return "\n".join([p.what for p in report.problems])


# -------------------------------------------------------------------------------- require


def test_require_gives_the_devices():
    assert tetrad.require("cpu") == jax.devices("cpu")
    with cpu_devices(3) as found:
        assert tetrad.require("cpu", 3) == found


@needs_plugin
def test_require_of_a_plugin():
    assert tetrad.require(PLATFORM) == jax.devices(PLATFORM)


@pytest.mark.parametrize("name", ["gpu", "cuda", "rocm", "tpu", "metal", "abacus"])
def test_require_says_what_is_missing(name):
    with pytest.raises(RuntimeError) as caught:
        tetrad.require(name)
    message = str(caught.value)
    assert f"'{name}' required at" in message and "test_doctor.py:" in message
    assert "looked for" in message and "jax_plugins" in message or name == "tpu"
    assert "Platforms that exist: cpu" in message
    assert "pip install" in message or "register_pjrt_plugin" in message
    if name in ("gpu", "cuda", "tpu"):
        assert "hardware:" in message


def test_require_counts():
    with pytest.raises(RuntimeError, match=r"64 devices of 'cpu' required .* it has"):
        tetrad.require("cpu", 64)
    with pytest.raises(TypeError, match="name of a platform"):
        tetrad.require(jax.devices()[0])


def test_require_knows_hardware_and_what_hides_it(monkeypatch):
    shown = {"/dev/nvidia[0-9]*": ["/dev/nvidia0"]}
    monkeypatch.setattr(hardware.glob, "glob", lambda pattern: shown.get(pattern, []))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "-1")
    with pytest.raises(RuntimeError) as caught:
        tetrad.require("gpu")
    message = str(caught.value)
    assert "NVIDIA GPU (/dev/nvidia[0-9]*); so the plugin is what is missing" in message
    assert "CUDA_VISIBLE_DEVICES='-1' hides every GPU" in message
    report = jax.see.doctor()
    assert "NVIDIA GPU" in rows(report, "plugins for other devices")["gpu"]
    assert "but no plugin for gpu" in whats(report)
    assert "CUDA_VISIBLE_DEVICES hides every GPU" in whats(report)


def test_require_tells_why_a_plugin_does_not_start(monkeypatch, tmp_path):
    broken = tmp_path / "plugin.so"
    broken.write_bytes(b"no library")
    monkeypatch.setenv(plugins.NAMED, f"broken:{broken}")
    with pytest.raises(RuntimeError, match=r"'broken': the PJRT plugin at .* did not"):
        tetrad.require("broken")


# --------------------------------------------------------------------------------- doctor


def test_the_report_has_all_sections():
    report = jax.see.doctor()
    assert [s.title for s in report.sections] == TITLES
    text = str(report)
    assert np.__version__ in text and "OpenBLAS" in text and "cpu:0" in text
    assert "no PJRT plugin for it is installed" in text and sys.executable in text
    assert rows(report, "devices")["default"] == "cpu:0"
    assert rows(report, "compiled code")["in memory"]
    assert "<table>" in report._repr_html_()
    assert report.healthy == (not report.problems)


@pytest.mark.parametrize("title", TITLES)
def test_nothing_broken_stops_the_report(monkeypatch, title):
    def broken(report):
        yield "one", "row"
        raise OSError("the disk is on fire")

    found = [(t, broken if t == title else f) for t, f in module.SECTIONS]
    monkeypatch.setattr(module, "SECTIONS", tuple(found))
    report = jax.see.doctor()
    assert rows(report, title)[""] == (
        "could not be found out: OSError: the disk is on fire"
    )
    assert f"{title} could not be found out" in whats(report)


BREAK = {
    "open": (builtins, "open"),
    "os.cpu_count": (os, "cpu_count"),
    "find_spec": (importlib.util, "find_spec"),
    "import_module": (importlib, "import_module"),
    "version": (module.importlib.metadata, "version"),
    "platform": (module.platform, "platform"),
    "scandir": (os, "scandir"),
    "glob": (module.glob, "glob"),
}


@pytest.mark.parametrize("name", BREAK)
def test_broken_tools_do_not_stop_the_report(monkeypatch, name):
    owner, attribute = BREAK[name]

    def broken(*args, **kwargs):
        raise OSError(f"{name} is broken")

    with monkeypatch.context() as patch:
        patch.setattr(owner, attribute, broken)
        report = jax.see.doctor()
        text = str(report)
    assert [s.title for s in report.sections] == TITLES and "problems" in text


def test_missing_packages_are_a_problem(monkeypatch):
    real = module._version
    monkeypatch.setattr(
        module, "_version", lambda name: None if name == "llvmlite" else real(name)
    )
    report = jax.see.doctor()
    assert rows(report, "versions")["llvmlite"] == "missing"
    assert "llvmlite is missing, without which compiling for the CPU" in whats(report)


def test_variables_that_nobody_reads(monkeypatch):
    monkeypatch.setenv("TETRAD_NUM_THREAD", "3")
    monkeypatch.setenv("JAX_ENABLE_X64", "0")
    report = jax.see.doctor()
    assert rows(report, "environment")["JAX_ENABLE_X64"] == "0"
    (problem,) = [p for p in report.problems if "TETRAD_NUM_THREAD" in p.what]
    assert "Did you mean TETRAD_NUM_THREADS?" in problem.advice


def test_caches_that_cannot_be_written(monkeypatch, tmp_path):
    open_to_all = tmp_path / "cache"
    open_to_all.mkdir(mode=0o777)
    open_to_all.chmod(0o777)
    monkeypatch.setenv("TETRAD_CACHE_DIR", str(open_to_all))
    report = jax.see.doctor()
    assert "is no folder of this user alone" in rows(report, "compiled code")["on disk"]
    assert "cannot hold the cache" in whats(report)
    private = tmp_path / "private"
    monkeypatch.setenv("TETRAD_CACHE_DIR", str(private))
    found = rows(jax.see.doctor(), "compiled code")["on disk"]
    assert found == f"{private}: 0 files, 0 B, writable"
    monkeypatch.setenv("TETRAD_CACHE", "0")
    assert "off" in rows(jax.see.doctor(), "compiled code")["on disk"]


def test_settings_and_defaults(monkeypatch):
    with jax.disable_jit():
        report = jax.see.doctor()
    assert rows(report, "settings that were changed")["jax_disable_jit"] == "True"
    assert "jax_disable_jit is on" in whats(report)
    with jax.default_device("abacus"):
        report = jax.see.doctor()
    assert "the default platform does not work" in whats(report)
    monkeypatch.setattr(module, "_available", lambda: 1000)
    assert "only 1000 B of memory are free" in whats(jax.see.doctor())


def test_the_command_line_prints_it():
    done = subprocess.run(
        [sys.executable, "-m", "tetrad", "--doctor"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("versions\n") and "OpenBLAS" in done.stdout
    done = subprocess.run(
        [sys.executable, "-m", "tetrad", "--doctor", "-c", "print('ran')"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout.endswith("ran\n")
