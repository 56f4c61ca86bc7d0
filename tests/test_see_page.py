"""The report page in a real browser: it draws, answers, and fits its window."""

import json
import os
import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

import tetrad as jax
import tetrad.numpy as jnp

pytestmark = pytest.mark.usefixtures("no_collection")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
BROWSER = next(filter(None, map(shutil.which, NAMES)), None)
DOCS = Path(__file__).parent.parent / "docs"

LISTEN = """<script>
window.problems = [];
addEventListener("error", event => problems.push(event.message));
</script>"""
PROBE = """<script>
addEventListener("load", () => {
  const found = {};
  const plot = document.querySelector(".plot");
  const shown = [...plot.querySelectorAll("svg")].filter(
    svg => svg.getBoundingClientRect().width > 0);
  found.shown = shown.map(svg => svg.getAttribute("class"));
  const box = shown[0].getBoundingClientRect();
  found.box = [box.width, box.height];
  const tip = plot.querySelector(".tip"), cross = plot.querySelector(".cross");
  found.before = tip.hidden;
  plot.dispatchEvent(new PointerEvent("pointermove",
    {clientX: box.left + box.width * .97, clientY: box.top + 50}));
  found.tip = tip.innerText;
  const inside = tip.getBoundingClientRect();
  found.inside = inside.left >= 0 && inside.right <= innerWidth;
  found.cross = cross.getBoundingClientRect().left - box.left;
  plot.dispatchEvent(new KeyboardEvent("keydown", {key: "Home"}));
  found.home = tip.innerText;
  plot.dispatchEvent(new KeyboardEvent("keydown", {key: "ArrowRight"}));
  found.right = tip.innerText;
  plot.dispatchEvent(new KeyboardEvent("keydown", {key: "Escape"}));
  found.after = tip.hidden && cross.hidden;
  found.overflow = document.documentElement.scrollWidth - innerWidth;
  found.paper = getComputedStyle(document.body).backgroundColor;
  found.ink = getComputedStyle(document.querySelector("h1")).color;
  const cell = document.querySelector("tbody td");
  found.cell = getComputedStyle(cell, "::before").content;
  found.areas = shown[0].querySelectorAll(".area").length;
  found.requests = performance.getEntriesByType("resource").length;
  found.problems = problems;
  const told = document.createElement("pre");
  told.id = "probe";
  told.textContent = JSON.stringify(found);
  document.body.append(told);
});
</script>"""


@pytest.fixture(scope="module")
def text():
    with jax.see.memory() as m:
        kept = [(jnp.ones((100, 1000)) * i).block_until_ready() for i in range(5)]
        del kept[1:4]
        last = jnp.ones((1000, 1000)).block_until_ready()
    assert m.delta == 2 * 400_000 + 4_000_000
    del kept, last
    return m.html()


def seen(text, folder, width, dark):
    """What a browser window of that width says about the page."""
    page = folder / "page.html"
    page.write_text(
        text.replace("<head>", f"<head>{LISTEN}").replace("</body>", f"{PROBE}</body>"),
        encoding="utf-8",
    )
    root = ["--no-sandbox"] if os.geteuid() == 0 else []
    done = subprocess.run(
        [
            BROWSER,
            "--headless",
            "--disable-gpu",
            "--hide-scrollbars",
            "--enable-logging=stderr",
            f"--user-data-dir={folder / 'profile'}",
            f"--window-size={width},1000",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            "--virtual-time-budget=2000",
            "--dump-dom",
            *root,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
    )
    console = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    assert console == []
    match = re.search(r'<pre id="probe">(.*?)</pre>', done.stdout, re.DOTALL)
    assert match, done.stderr[-2000:]
    unescaped = match[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
    return json.loads(unescaped)


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
@pytest.mark.parametrize("width, dark", [(1400, False), (400, True)])
def test_a_browser_shows_the_page(text, tmp_path, width, dark):
    found = seen(text, tmp_path, width, dark)
    assert found["problems"] == []
    assert found["requests"] == 0
    assert found["shown"] == [f"tetrad-chart {'narrow' if width < 640 else 'wide'}"]
    assert found["box"][0] > 0.85 * min(width, 1080)
    assert found["areas"] >= 2
    assert found["overflow"] <= 0
    assert found["paper"] == ("rgb(22, 25, 31)" if dark else "rgb(255, 255, 255)")
    assert found["ink"] == ("rgb(230, 233, 238)" if dark else "rgb(27, 31, 36)")
    assert found["cell"] == ('"now"' if width < 640 else "none")


@pytest.mark.skipif(BROWSER is None, reason="no Chromium is installed")
def test_pointer_and_arrow_keys_tell_what_was_there(text, tmp_path):
    found = seen(text, tmp_path, 1400, False)
    assert found["before"] and found["after"]
    assert "3.8 MiB" in found["tip"]
    assert "test_see_page.py:" in found["tip"]
    assert found["inside"]
    assert found["cross"] == pytest.approx(0.97 * found["box"][0], abs=2)
    assert found["home"].split("\n")[0].startswith("0 µs")
    assert found["right"] != found["home"]


@pytest.mark.parametrize("name", ["memory-steps.svg", "memory-leak.svg"])
def test_the_pictures_of_the_docs_are_such_files(name):
    text = (DOCS / name).read_text()
    ElementTree.fromstring(text)
    assert 'class="tetrad tetrad-chart"' in text
    assert "at the peak" in text
