"""The pages in docs/ and the READMEs show what really happens: their snippets run.

A fenced block that begins with ```python is run. In docs/, lines with >>> are checked
against what stands below them; a page is one session from top to bottom. Where an output
holds numbers that vary, the page writes `...` for them.
"""

import contextlib
import doctest
import io
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
from several import cpu_devices

import tetrad

ROOT = Path(__file__).parent.parent
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
OPTIONS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
PAGES = sorted(page.name for page in (ROOT / "docs").glob("*.md"))
# What a page wants around it.
AROUND = {"placement.md": lambda: cpu_devices(2)}
READMES = ("README.md", "README.zh-CN.md")


def blocks(page):
    """The fenced Python blocks of a page: the line each starts on, and its text."""
    text = page.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start(1)), match[1]


# Pages that print what is in memory, which is more in a process that has run others.
FRESH = ("memory.md",)


@pytest.mark.parametrize("name", PAGES)
def test_pages(name):
    if name not in FRESH:
        check(name)
        return
    command = f"import test_docs; test_docs.check({name!r})"
    done = subprocess.run(
        [sys.executable, "-c", command],
        cwd=Path(__file__).parent,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def check(name):
    page = ROOT / "docs" / name
    parser = doctest.DocTestParser()
    examples = []
    for line, text in blocks(page):
        for example in parser.get_examples(text):
            example.lineno += line
            examples.append(example)
    names = {"jax": tetrad, "jnp": tetrad.numpy, "tetrad": tetrad}
    source = page.read_text(encoding="utf-8")
    test = doctest.DocTest(examples, names, name, str(page), 0, source)
    report = io.StringIO()
    runner = doctest.DocTestRunner(optionflags=OPTIONS)
    with AROUND.get(name, contextlib.nullcontext)():
        runner.run(test, out=report.write)
    assert runner.failures == 0, report.getvalue()


@pytest.mark.parametrize("name", READMES)
def test_readmes(name):
    shown = list(blocks(ROOT / name))
    assert shown
    for _, text in shown:
        with contextlib.redirect_stdout(io.StringIO()):
            exec(compile(text, name, "exec"), {})
