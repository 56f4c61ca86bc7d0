"""Reports of memory from the command line, and for other tools."""

import gzip
import os
import subprocess
import sys
from pathlib import Path

import pytest

import tetrad as jax
import tetrad.numpy as jnp

ROOT = Path(__file__).parent.parent
PROGRAM = """\
import sys
import jax
import jax.numpy as jnp

weights = jnp.ones((512, 512)) * 2
history = [weights * i for i in range(4)]
print("ran", sys.argv[1:])
if "fail" in sys.argv:
    1 / 0
if "leave" in sys.argv:
    sys.exit(3)
"""


def tetrad(folder, *arguments):
    (folder / "script.py").write_text(PROGRAM)
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [sys.executable, "-m", "tetrad", *arguments],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
    )


def check_table(text):
    assert "memory by source line" in text
    assert "cpu:0: 5.0 MiB in use, peak 5.0 MiB" in text
    row = next(line for line in text.splitlines() if "script.py:6" in line)
    assert row.split()[:2] == ["4.0", "MiB"]
    assert "4 × float32[512,512]" in row
    assert row.endswith("history = [weights * i for i in range(4)]")


@pytest.mark.parametrize("how", ["script", "module"])
def test_the_table_is_printed_at_the_end(tmp_path, how):
    program = ["script.py"] if how == "script" else ["-m", "script"]
    done = tetrad(tmp_path, "--memory", *program, "a", "--memory")
    assert done.returncode == 0
    assert done.stdout == "ran ['a', '--memory']\n"
    check_table(done.stderr)


@pytest.mark.parametrize("how, code", [("fail", 1), ("leave", 3)])
def test_table_and_page_are_written_after_an_exception_too(tmp_path, how, code):
    done = tetrad(tmp_path, "--memory", "--report", "out.html", "script.py", how)
    assert done.returncode == code
    check_table(done.stderr)
    assert ("ZeroDivisionError" in done.stderr) == (how == "fail")
    page = (tmp_path / "out.html").read_text()
    assert page.startswith("<!doctype html>")
    assert "<h1>Memory of <code>script.py</code></h1>" in page
    assert "script.py:6" in page


def test_a_command_is_looked_at_like_a_script(tmp_path):
    command = "import jax.numpy as jnp; x = jnp.ones(1000) + 1; print(x.sum())"
    done = tetrad(tmp_path, "--report=out.json", "--memory", "-c", command)
    assert done.stdout == "2000.0\n"
    assert "<string>:1" in done.stderr
    assert '"peak"' in (tmp_path / "out.json").read_text()


def test_looking_does_not_choose_devices_before_the_program(tmp_path):
    command = (
        "import jax; jax.config.update('jax_num_cpu_devices', 2);"
        "x = jax.device_put(1.0, jax.devices()[1])"
    )
    done = tetrad(tmp_path, "--memory", "-c", command)
    assert done.returncode == 0, done.stderr
    assert "cpu:1: 4 B in use" in done.stderr


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_report(tmp_path):
    command = "import os; child = os.fork(); child and os.waitpid(child, 0)"
    done = tetrad(tmp_path, "--memory", "--report", "out.html", "-c", command)
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("memory by source line") == 1
    assert done.stderr.count("saved") == 1


@pytest.mark.parametrize(
    "arguments, words",
    [
        (["--report", "out.png", "script.py"], "must end in .html, .svg or .json"),
        (["--report", "no/out.html", "script.py"], "there is no folder no"),
        (["--report"], "--report needs an argument, FILE"),
        (["--memory=3", "script.py"], "--memory takes no argument"),
        (["--memory"], "there is no program to run"),
        (["--mem", "script.py"], "there is no option --mem"),
        (["-c"], "-c needs an argument"),
    ],
)
def test_a_wrong_command_is_told_before_anything_runs(tmp_path, arguments, words):
    done = tetrad(tmp_path, *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert words in done.stderr
    assert "usage: python -m tetrad [options] script.py" in done.stderr


def test_the_options_are_in_the_usage(tmp_path):
    done = tetrad(tmp_path, "--help")
    assert done.returncode == 0
    assert "--memory" in done.stdout
    assert "--report FILE" in done.stdout


# --------------------------------------------------------------------------------- pprof


def fields(message):
    """(number, value) of the fields of a message in the wire format."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = message[at]
            at += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    found = []
    while at < len(message):
        key = number()
        if key & 7 == 0:
            found.append((key >> 3, number()))
        else:
            assert key & 7 == 2
            length = number()
            found.append((key >> 3, message[at : at + length]))
            at += length
    return found


def packed(data):
    return [value for _, value in fields(b"".join(b"\0" + d for d in digits(data)))]


def digits(data):
    part = b""
    for byte in data:
        part += bytes([byte])
        if byte < 128:
            yield part
            part = b""


class Profile:
    """A decoded profile: samples as dictionaries."""

    def __init__(self, data):
        message = fields(gzip.decompress(data))

        def all_of(wanted):
            return [value for number, value in message if number == wanted]

        strings = [text.decode() for text in all_of(6)]
        assert strings[0] == ""
        self.types = [
            tuple(strings[dict(fields(t))[i]] for i in (1, 2)) for t in all_of(1)
        ]
        self.default = strings[all_of(14)[0]]
        functions = {}
        for function in map(dict, map(fields, all_of(5))):
            functions[function[1]] = (strings[function[2]], strings[function[4]])
        places = {}
        for location in map(dict, map(fields, all_of(4))):
            line = dict(fields(location[4]))
            places[location[1]] = (*functions[line[1]], line[2])
        assert 0 not in places
        self.samples = []
        for sample in map(fields, all_of(2)):
            labels = [dict(fields(v)) for n, v in sample if n == 3]
            count, nbytes = packed(dict(sample)[2])
            (location,) = packed(dict(sample)[1])
            self.samples.append(
                {
                    "count": count,
                    "bytes": nbytes,
                    "place": places[location],
                    **{strings[x[1]]: strings[x[2]] for x in labels},
                }
            )


def test_the_profile_says_what_the_ledger_says():
    def make():
        return [jnp.ones(1000) * i for i in range(200)]

    kept = make()
    small = jnp.arange(3) + 1
    profile = Profile(jax.profiler.device_memory_profile())
    here = [s for s in profile.samples if s["device"] == "cpu:0"]
    assert profile.types == [("allocations", "count"), ("space", "bytes")]
    assert profile.default == "space"
    now = jax.see.memory()
    assert sum(s["bytes"] for s in profile.samples) == now.current
    arrays = sum(line.arrays for d in now.devices for line in d.by_line)
    assert sum(s["count"] for s in profile.samples) == arrays
    line = make.__code__.co_firstlineno + 1
    mine = [s for s in here if s["place"][1:] == (__file__, line)]
    name = make.__qualname__
    if sys.version_info < (3, 12):  # later versions run comprehensions inline
        name += ".<locals>.<listcomp>"
    assert mine == [
        {
            "count": 200,
            "bytes": 800_000,
            "place": (name, __file__, line),
            "kind": "buffer",
            "device": "cpu:0",
        }
    ]
    del kept, small


def test_the_profile_of_a_platform_and_of_none(tmp_path):
    x = jnp.ones(10).block_until_ready()
    whole = Profile(jax.profiler.device_memory_profile("cpu"))
    cpu = [d for d in jax.see.memory().devices if d.device.platform == "cpu"]
    assert sum(s["bytes"] for s in whole.samples) == sum(d.current for d in cpu)
    path = tmp_path / "memory.prof"
    jax.profiler.save_device_memory_profile(path)
    assert Profile(path.read_bytes()).samples
    with pytest.raises(RuntimeError, match="platform 'nowhere' is not available"):
        jax.profiler.device_memory_profile("nowhere")
    del x
