"""Reports of memory as HTML: a page of its own, and a piece for notebooks.

In: a `Memory`. Out: text. The page needs nothing from elsewhere: styles, pictures, data
and the few lines of script stand in it. It follows the light or dark setting of the
reader, has a drawing for wide and one for narrow windows, and can be read without a
script: the table holds the numbers, the script adds what the pointer or the arrow keys
are at.

Read `page`, then the parts in order; styles and script stand at the end. `document`,
`piece`, `tiles` and `table` serve other reports, too.
"""

from __future__ import annotations

import html
import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tetrad._src.runtime.ledger import human
from tetrad._src.see import picture
from tetrad._src.see.picture import NARROW, STYLE, VARIABLES, WIDE, Chart, Frame
from tetrad._src.util.sizes import duration, signed
from tetrad._src.util.words import counted

ROWS = 200  # lines that a table shows

text = html.escape


def page(report: Any) -> str:
    """The page of a `Memory`."""
    charts = _charts(report)
    parts = [_tiles(report)]
    for device, chart in charts:
        parts.append(f"<section>\n<h2>{text(str(device.device))}</h2>")
        if chart is not None:
            parts += [_plot(chart), _legend(chart)]
        parts += [_table(device, chart), "</section>"]
    if not charts:
        parts.append("<p>No device has been used yet.</p>")
    lengths = [duration(chart.seconds) for _, chart in charts if chart is not None]
    return document("Memory", lengths[:1], parts, script=SCRIPT)


def document(
    topic: str,
    words: Sequence[str],
    parts: Iterable[str],
    *,
    style: str = "",
    script: str = "",
) -> str:
    """A page about the program that runs: a title, the time and more words, the parts."""
    title = f"{topic} of <code>{text(program_name())}</code>"
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{topic} of {text(program_name())}</title>",
        f"<style>\n{VARIABLES}{STYLE}{PARTS}{PAGE}{style}</style>",
        "</head>",
        '<body class="tetrad">',
        "<main>",
        "<header>",
        f"<h1>{title}</h1>",
        f"<p>{text(' · '.join([time.strftime('%Y-%m-%d %H:%M'), *words]))}</p>",
        "</header>",
        *parts,
        "</main>",
    ]
    if script:
        lines.append(f"<script>{script}</script>")
    return "\n".join([*lines, "</body>", "</html>"]) + "\n"


def piece(parts: Iterable[str], style: str = "") -> str:
    """A piece of a notebook."""
    head = f"<style>\n{VARIABLES}{STYLE}{PARTS}{style}</style>"
    return "\n".join(['<div class="tetrad">', head, *parts, "</div>"]) + "\n"


def fragment(report: Any) -> str:
    """The same without a frame and without a script, for notebooks."""
    parts = [_tiles(report)]
    for device, chart in _charts(report):
        parts.append(f"<section><strong>{text(str(device.device))}</strong>")
        if chart is not None:
            parts += [_plot(chart, script=False), _legend(chart)]
        parts += [_table(device, chart), "</section>"]
    return piece(parts)


def _charts(report: Any) -> list[tuple[Any, Chart | None]]:
    """The devices that were used, each with its picture if there is a history."""
    used = [d for d in report.devices if d.by_line or d.peak or d.allocated]
    return [
        (d, None if d.history is None else picture.chart(d))
        for d in used or report.devices[:1]
    ]


def program_name() -> str:
    """What the user calls the program that runs."""
    name = os.path.basename(sys.argv[0] if sys.argv else "")
    if "ipykernel" in sys.modules:
        return "a notebook"
    return name if name not in ("", "-c", "-m") else "a program"


# --------------------------------------------------------------------------------- parts


def _tiles(report: Any) -> str:
    """The numbers that matter most."""
    block = any([d.history is not None for d in report.devices])
    shown = [
        ("peak", human(report.peak), ""),
        ("in use at the end" if block else "in use", human(report.current), ""),
    ]
    if block:
        shown.append(("change", signed(report.delta), ""))
    pieces = f"in {counted(report.allocations, 'piece')}"
    shown.append(("allocated", human(report.allocated), pieces))
    if report.copies:
        shown.append(
            ("copies by updates", human(report.copied), counted(report.copies, "time"))
        )
    return tiles(shown)


def tiles(shown: Iterable[tuple[str, str, str]]) -> str:
    """Numbers side by side: each with its name, and a word behind it or none."""
    rows = [
        f"<div><dt>{text(name)}</dt><dd>{text(value)}"
        + (f" <small>{text(more)}</small>" if more else "")
        + "</dd></div>"
        for name, value, more in shown
    ]
    return "\n".join(['<dl class="tiles">', *rows, "</dl>"])


def _plot(chart: Chart, script: bool = True) -> str:
    """The picture, once for wide windows and once for narrow ones."""
    label = text(picture.summary(chart), quote=True)
    parts = [_svg(chart, WIDE, "wide", label), _svg(chart, NARROW, "narrow", label)]
    if not script:
        return "\n".join(['<div class="plot">', *parts, "</div>"])
    return "\n".join(
        [
            '<div class="plot" tabindex="0" role="group"'
            ' aria-label="Memory over time; the arrow keys move through it">',
            *parts,
            '<div class="cross" hidden></div>',
            '<div class="tip" role="status" hidden></div>',
            f'<script type="application/json">{_data(chart)}</script>',
            "</div>",
        ]
    )


def _svg(chart: Chart, frame: Frame, name: str, label: str) -> str:
    first = frame.left / frame.width
    last = 1 - frame.right / frame.width
    return (
        f'<svg class="tetrad-chart {name}" viewBox="0 0 {frame.width} {frame.height}"'
        f' role="img" aria-label="{label}" data-from="{first:.5f}" data-to="{last:.5f}">'
        f"\n{picture.drawing(chart, frame)}\n</svg>"
    )


def _data(chart: Chart) -> str:
    """What the script shows, as JSON that cannot end the element it stands in."""
    data = {
        "seconds": chart.seconds,
        "top": chart.top,
        "times": [round(t, 7) for t in chart.times],
        "totals": chart.totals,
        "layers": [
            {"place": layer.place, "colour": layer.colour, "values": layer.values}
            for layer in chart.layers
        ],
    }
    return json.dumps(data, separators=(",", ":")).replace("<", "\\u003c")


def _legend(chart: Chart) -> str:
    """Which colour is which line, from the top of the picture down.

    Of areas too thin to be seen the table tells.
    """
    least = max(chart.totals) / 100
    rows = [
        f'<li>{_swatch(layer.colour)}<code class="place">{text(layer.place)}</code>'
        + (f' <code class="source">{text(layer.source)}</code>' if layer.source else "")
        + "</li>"
        for layer in reversed(chart.layers)
        if layer.largest >= least
    ]
    return "\n".join(['<ul class="legend">', *rows, "</ul>"])


def _swatch(colour: int) -> str:
    return f'<i class="swatch" style="background:var(--c{colour})"></i>'


def _table(device: Any, chart: Chart | None) -> str:
    """All lines, with what they hold now and held at the peak."""
    rows = device.by_line
    if not rows:
        return "<p>Nothing is in use.</p>"
    block = device.history is not None
    heads = ["line", "now", *(["change", "at peak"] if block else [])]
    heads += ["arrays", "oldest", "what"]
    colours = {}
    if chart is not None:
        colours = {layer.place: layer.colour for layer in chart.layers}
    largest = max([max(row.largest for row in rows), 1])
    shown = []
    for row in rows[:ROWS]:
        colour = colours.get(row.place, picture.LAYERS)
        share = row.largest / largest
        shown.append(Row(row.place, row.source, share, colour, block, _cells(row)))
    parts = [table("By the source line that asked for the memory", heads, shown)]
    if len(rows) > ROWS:
        rest = sum([row.nbytes for row in rows[ROWS:]])
        parts.append(f"<p>… and {len(rows) - ROWS} more lines with {human(rest)}.</p>")
    return "\n".join(parts)


class Row(NamedTuple):
    """A row of a table: its head with a bar below, and the cells behind it."""

    place: str
    source: str
    share: float  # the length of the bar
    colour: int
    swatch: bool  # whether the colour is shown in front, too
    cells: Sequence[str]


def table(
    caption: str, heads: Sequence[str], rows: Iterable[Row], kind: str = ""
) -> str:
    """A table; all cells are numbers but those below the head "what"."""
    named = f' class="{kind}"' if kind else ""
    parts = [
        f'<table role="table"{named}>',
        f"<caption>{caption}</caption>",
        '<thead role="rowgroup"><tr role="row">',
        *[f'<th role="columnheader" scope="col">{head}</th>' for head in heads],
        '</tr></thead>\n<tbody role="rowgroup">',
    ]
    for row in rows:
        swatch = _swatch(row.colour) if row.swatch else ""
        bar = f"width:{100 * row.share:.1f}%;background:var(--c{row.colour})"
        cells = [
            f'<td role="cell" data-head="{head}"'
            f"{'' if head == 'what' else ' class=number'}>{text(value)}</td>"
            for head, value in zip(heads[1:], row.cells)
        ]
        parts.append(
            f'<tr role="row"><th role="rowheader" scope="row">{swatch}'
            f'<code class="place">{text(row.place)}</code>'
            f'<code class="source">{text(row.source)}</code>'
            f'<i class="bar" style="{bar}"></i></th>{"".join(cells)}</tr>'
        )
    return "\n".join([*parts, "</tbody>", "</table>"])


def _cells(row: Any) -> list[str]:
    """The cells behind the line."""
    cells = [human(row.nbytes)]
    if row.change is not None:
        cells += [signed(row.change), human(row.peak)]
    age = "" if row.oldest is None else duration(row.oldest)
    return [*cells, str(row.arrays), age, row.what()]


# ---------------------------------------------------------------------- style and script

PARTS = """\
.tetrad{color:var(--ink);font:15px/1.5 ui-sans-serif,system-ui,sans-serif}
.tetrad code{font:13px/1.4 ui-monospace,SFMono-Regular,Menlo,monospace}
.tetrad .source{color:var(--soft);overflow-wrap:anywhere}
.tetrad .tiles{display:flex;flex-wrap:wrap;gap:8px 40px;margin:16px 0 20px}
.tetrad .tiles div{min-width:96px}
.tetrad section+section{margin-top:32px}
.tetrad dt{color:var(--soft);font-size:13px}
.tetrad dd{margin:0;font-size:22px;font-weight:600;font-variant-numeric:tabular-nums}
.tetrad dd small{font-size:13px;font-weight:400;color:var(--soft)}
.tetrad .plot{position:relative;margin:4px 0 8px;border-radius:6px}
.tetrad .plot svg{display:block;width:100%;height:auto;background:var(--paper)}
.tetrad .plot svg.narrow{display:none}
.tetrad .legend{list-style:none;margin:0 0 24px;padding:0;columns:2;column-gap:32px}
.tetrad .legend li{break-inside:avoid;padding:1px 0 1px 20px;text-indent:-20px;margin:0}
.tetrad .legend .place{margin-right:6px}
.tetrad .swatch{display:inline-block;width:12px;height:12px;border-radius:3px;
 margin-right:8px;vertical-align:-1px}
.tetrad table{border-collapse:collapse;width:100%;font-size:14px;color:var(--ink)}
.tetrad caption{text-align:left;color:var(--soft);font-size:13px;padding-bottom:6px}
.tetrad th,.tetrad td{text-align:left;vertical-align:top;padding:7px 14px 7px 0;
 border-bottom:1px solid var(--rule);background:none;font-weight:400}
.tetrad thead th{color:var(--soft);font-size:13px;white-space:nowrap}
.tetrad thead th:not(:first-child):not(:last-child),.tetrad .number{text-align:right;
 white-space:nowrap;font-variant-numeric:tabular-nums}
.tetrad tbody th{position:relative;width:46%}
.tetrad tbody .place{font-weight:600;margin-right:10px}
.tetrad .bar{position:absolute;left:0;bottom:-1px;height:3px;border-radius:0 2px 2px 0}
@media (max-width:640px){
.tetrad .plot svg.wide{display:none}
.tetrad .plot svg.narrow{display:block}
.tetrad .legend{columns:1}
.tetrad thead{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.tetrad table,.tetrad tbody,.tetrad tr,.tetrad tbody th,.tetrad td{display:block;
 width:auto}
.tetrad caption{display:block}
.tetrad tr{border-bottom:1px solid var(--rule);padding:10px 0 12px}
.tetrad tbody th,.tetrad td{border:0;padding:0;text-align:left}
.tetrad tbody th{margin-bottom:8px;padding-bottom:6px}
.tetrad tbody .source{display:block}
.tetrad td.number{display:inline-block;min-width:30%;margin:0 12px 4px 0;text-align:left}
.tetrad td:empty{display:none}
.tetrad td::before{content:attr(data-head);display:block;color:var(--soft);font-size:12px}
}
"""

PAGE = """\
body{margin:0;background:var(--paper)}
main{max-width:1120px;margin:0 auto;padding:28px 20px 48px}
h1{font-size:24px;line-height:1.25;margin:0;font-weight:650}
h1 code{font-size:.92em!important}
h2{font-size:16px;margin:20px 0 0;font-weight:600}
header p{margin:4px 0 0;color:var(--soft);font-size:13px}
.plot:focus-visible{outline:2px solid var(--c0);outline-offset:3px}
.cross{position:absolute;top:0;bottom:0;width:1px;background:var(--ink);opacity:.55;
 pointer-events:none}
.tip{position:absolute;top:8px;max-width:min(340px,80%);padding:8px 10px;
 border:1px solid var(--rule);border-radius:6px;background:var(--paper);
 box-shadow:0 3px 12px rgb(0 0 0/.16);font-size:13px;pointer-events:none}
.tip div{display:flex;gap:8px;align-items:baseline;justify-content:space-between}
.tip b{font-weight:600;white-space:nowrap;font-variant-numeric:tabular-nums}
.tip span{overflow:hidden;text-overflow:ellipsis;white-space:nowrap}
[hidden]{display:none!important}
"""

SCRIPT = """
"use strict";
const bytes = n => {
  for (const unit of ["B", "KiB", "MiB", "GiB"]) {
    if (n < 1024) return (unit === "B" ? n : n.toFixed(1)) + " " + unit;
    n /= 1024;
  }
  return n.toFixed(1) + " TiB";
};
const seconds = s => s >= 1 ? s.toPrecision(4) + " s"
  : s >= 1e-3 ? (s * 1e3).toPrecision(4) + " ms" : (s * 1e6).toFixed(0) + " µs";
const add = (parent, tag, words) => {
  const made = document.createElement(tag);
  if (words !== undefined) made.textContent = words;
  return parent.appendChild(made);
};
for (const plot of document.querySelectorAll(".plot")) {
  const data = JSON.parse(plot.querySelector("script").textContent);
  const tip = plot.querySelector(".tip"), cross = plot.querySelector(".cross");
  let now = data.top;
  plot.querySelectorAll("path > title").forEach(title => title.remove());
  const shown = () => [...plot.querySelectorAll("svg")].find(
    svg => svg.getBoundingClientRect().width > 0);
  const row = (name, value, colour) => {
    const line = add(tip, "div"), label = add(line, "span");
    if (colour !== undefined) {
      const swatch = add(label, "i");
      swatch.className = "swatch";
      swatch.style.background = `var(--c${colour})`;
    }
    label.append(name);
    add(line, "b", value);
  };
  const show = (i, time) => {
    const svg = shown(), from = +svg.dataset.from, to = +svg.dataset.to;
    const share = from + (to - from) * Math.min(time / data.seconds, 1);
    now = i;
    tip.replaceChildren();
    row(seconds(time), bytes(data.totals[i]));
    for (const layer of [...data.layers].reverse())
      if (layer.values[i]) row(layer.place, bytes(layer.values[i]), layer.colour);
    cross.style.left = 100 * share + "%";
    tip.style.left = share < .5 ? `calc(${100 * share}% + 12px)` : "";
    tip.style.right = share < .5 ? "" : `calc(${100 - 100 * share}% + 12px)`;
    tip.hidden = cross.hidden = false;
  };
  const hide = () => { tip.hidden = cross.hidden = true; };
  const last = time => {
    let low = 0, high = data.times.length - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (data.times[middle] <= time) low = middle; else high = middle - 1;
    }
    return low;
  };
  plot.addEventListener("pointermove", event => {
    const svg = shown(), box = svg.getBoundingClientRect();
    const from = +svg.dataset.from, to = +svg.dataset.to;
    const share = ((event.clientX - box.left) / box.width - from) / (to - from);
    if (share < 0 || share > 1) return hide();
    show(last(share * data.seconds), share * data.seconds);
  });
  plot.addEventListener("pointerleave", hide);
  plot.addEventListener("blur", hide);
  plot.addEventListener("focus", () => {
    if (plot.matches(":focus-visible")) show(now, data.times[now]);
  });
  plot.addEventListener("keydown", event => {
    const end = data.times.length - 1;
    const to = {ArrowLeft: now - 1, ArrowRight: now + 1, Home: 0, End: end}[event.key];
    if (event.key === "Escape") hide();
    if (to === undefined) return;
    event.preventDefault();
    const i = Math.max(0, Math.min(end, to));
    show(i, data.times[i]);
  });
}
"""
