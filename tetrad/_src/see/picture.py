"""Memory over time as a picture: areas stacked by birth line, the peak marked.

In: the history of one device. Out: a `Chart` (numbers), and what SVG says of it. Colours
are classes, so that a style (`STYLE`) serves light and dark surroundings.

Read `Chart`, `chart` (history to numbers), then `drawing` (numbers to SVG) and `file`.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

from tetrad._src.runtime.history import Change, History
from tetrad._src.runtime.ledger import human, place_key
from tetrad._src.util import frames
from tetrad._src.util.sizes import duration

LAYERS = 7  # lines with a colour of their own; the others share one
COLUMNS = 320  # of each the highest moment and the last are drawn
OTHER = "other lines"
LETTER = 6.7  # width of a letter of 11 pixels, about

LIGHT = ("#2f6db5", "#e07b39", "#2a9d8f", "#b5485d", "#7b5ea7", "#c9a227", "#5b8c3e")
DARK = ("#5b9be0", "#f0955a", "#4cc0b0", "#e0748a", "#a48bd3", "#e3c04f", "#8abf66")


def _colours(colours: Sequence[str], other: str) -> str:
    named = [f"--c{i}:{colour}" for i, colour in enumerate((*colours, other))]
    return ";".join(named)


VARIABLES = (
    ".tetrad{--paper:#ffffff;--ink:#1b1f24;--soft:#57606a;--rule:#d9dee4;--mark:#b42318;"
    f"{_colours(LIGHT, '#9aa3ad')}}}\n"
    "@media (prefers-color-scheme:dark){.tetrad{--paper:#16191f;--ink:#e6e9ee;"
    f"--soft:#9aa4b0;--rule:#323842;--mark:#ff8a7a;{_colours(DARK, '#69727e')}}}}}\n"
)
STYLE = (
    ".tetrad-chart text{font:11px ui-sans-serif,system-ui,sans-serif;fill:var(--soft)}"
    ".tetrad-chart .line{font-family:ui-monospace,monospace;fill:var(--ink)}"
    ".tetrad-chart .rule{stroke:var(--rule);stroke-width:1;fill:none}"
    ".tetrad-chart .rim{stroke:var(--paper);stroke-width:.8;fill:none}"
    ".tetrad-chart .peak{fill:var(--mark);font-weight:600}"
    ".tetrad-chart circle.peak{stroke:var(--paper);stroke-width:1.5}"
    ".tetrad-chart .limit{stroke:var(--mark);stroke-dasharray:5 4;fill:none}"
    + "".join([f".tetrad-chart .c{i}{{fill:var(--c{i})}}" for i in range(LAYERS + 1)])
    + "\n"
)


Point = tuple[float, float]


class Layer(NamedTuple):
    """One area of the picture: bytes over time that a line holds."""

    place: str
    source: str
    colour: int
    values: list[int]

    @property
    def largest(self) -> int:
        return max(self.values, default=0)


class Chart(NamedTuple):
    """What is drawn; the values of a moment hold until the next one."""

    device: str
    seconds: float  # how long it took
    times: list[float]
    layers: list[Layer]  # from the bottom up
    totals: list[int]
    limit: int | None

    @property
    def top(self) -> int:
        """Number of the moment with the peak."""
        return max(range(len(self.totals)), key=lambda i: self.totals[i])


def chart(device: Any) -> Chart:
    """The picture of a `DeviceMemory` of a block."""
    history: History = device.history
    changes = history.changes[:]
    names = _Names()
    largest = _largest(history, changes, names)
    chosen = sorted(largest, key=lambda name: -largest[name])
    ranks = {name: i for i, name in enumerate(chosen[:LAYERS])}
    count = len(ranks) + (len(chosen) > LAYERS)
    sums = [0] * count
    for line, nbytes in history.before:
        sums[ranks.get(names[line], LAYERS)] += nbytes
    seconds = max(history.stopped - history.started, 1e-6)
    if not history.stopped and changes:
        seconds = max(changes[-1].time - history.started, 1e-6)
    shown = _shown(changes, history.started, seconds)
    times = [0.0]
    values = [[nbytes] for nbytes in sums]
    for number, change in enumerate(changes):
        sums[ranks.get(names[change.line], LAYERS)] += change.nbytes
        if number in shown:
            times.append(change.time - history.started)
            for column, nbytes in zip(values, sums):
                column.append(nbytes)
    layers = [
        Layer(name, names.sources[name], i, values[i]) for name, i in ranks.items()
    ]
    if count > len(ranks):
        layers.append(Layer(OTHER, "", LAYERS, values[LAYERS]))
    totals = [sum(column) for column in zip(*values)] if values else [0]
    return Chart(str(device.device), seconds, times, layers, totals, device.limit)


class _Names(dict[Any, str]):
    """Places as text, found once each."""

    def __init__(self) -> None:
        super().__init__()
        self.sources: dict[str, str] = {}

    def __getitem__(self, line: Any) -> str:
        key = place_key(line)
        name = self.get(key)
        if name is None:
            name = self[key] = frames.format_where(line)
            if name not in self.sources:
                self.sources[name] = frames.source_at(line)
        return name


def _largest(
    history: History, changes: Sequence[Change], names: _Names
) -> dict[str, int]:
    """For each line the most that it held at once."""
    sums: dict[str, int] = {}
    largest: dict[str, int] = {}
    steps = [(change.line, change.nbytes) for change in changes]
    for line, nbytes in [*history.before, *steps]:
        name = names[line]
        sums[name] = held = sums.get(name, 0) + nbytes
        if held > largest.get(name, 0):
            largest[name] = held
    return largest


def _shown(changes: Sequence[Change], start: float, seconds: float) -> set[int]:
    """Numbers of the changes that are drawn: two for each column of the picture."""
    tops: dict[int, int] = {}
    lasts: dict[int, int] = {}
    for number, change in enumerate(changes):
        column = int((change.time - start) / seconds * COLUMNS)
        lasts[column] = number
        top = tops.get(column)
        if top is None or change.held > changes[top].held:
            tops[column] = number
    return {*tops.values(), *lasts.values()}


# -------------------------------------------------------------------------------- scales


def byte_ticks(largest: int, count: int) -> list[int]:
    """At most `count` + 1 round numbers of bytes from 0 on, the last one above."""
    for power in range(6):
        for step in (1, 2, 4, 8, 16, 32, 64, 128, 256, 512):
            nbytes = step * 1024**power
            if nbytes * count >= largest:
                number = max(1, math.ceil(largest / nbytes))
                return [i * nbytes for i in range(number + 1)]
    return [0, largest]


def second_ticks(seconds: float, count: int) -> list[float]:
    """At most `count` + 1 round numbers of seconds from 0 on."""
    step = 10.0 ** math.floor(math.log10(seconds / count))
    for factor in (1, 2, 5, 10):
        if step * factor * count >= seconds:
            step *= factor
            break
    return [i * step for i in range(int(seconds / step + 1e-9) + 1)]


def short_bytes(nbytes: int) -> str:
    """16777216 → 16 MiB"""
    return human(nbytes).replace(".0 ", " ")


def short_seconds(seconds: float, unit: float) -> str:
    """0.25 → 250 ms; in the unit that suits `unit` seconds."""
    for length, name in ((1.0, "s"), (1e-3, "ms")):
        if unit >= length:
            return f"{seconds / length:.4g} {name}"
    return f"{seconds * 1e6:.4g} µs"


# ------------------------------------------------------------------------------- drawing


class Frame(NamedTuple):
    """Where things are in a picture."""

    width: int
    height: int
    left: int = 64
    right: int = 16
    top: int = 30
    bottom: int = 26

    @property
    def floor(self) -> int:
        return self.height - self.bottom


WIDE = Frame(1080, 360)
NARROW = Frame(420, 300, left=58, right=10)


def drawing(shown: Chart, frame: Frame) -> str:
    """The content of an SVG element of the size of `frame`."""
    largest = max(shown.totals)
    limit = shown.limit if shown.limit and shown.limit <= 1.5 * largest else None
    ticks = byte_ticks(max(largest, limit or 0, 1), 4 if frame.width < 600 else 5)
    room = frame.width - frame.left - frame.right

    def x(seconds: float) -> float:
        return frame.left + room * min(seconds / shown.seconds, 1.0)

    def y(nbytes: float) -> float:
        return frame.floor - (frame.floor - frame.top) * nbytes / ticks[-1]

    out = []
    for tick in ticks:
        at = y(tick)
        out.append(f'<path class="rule" d="M{frame.left} {at:.1f}h{room}"/>')
        out.append(
            f'<text x="{frame.left - 8}" y="{at + 4:.1f}" text-anchor="end">'
            f"{short_bytes(tick)}</text>"
        )
    seconds = second_ticks(shown.seconds, 4 if frame.width < 600 else 8)
    for second in seconds:
        at = x(second)
        anchor = "end" if at > frame.width - 24 else "middle"
        out.append(f'<path class="rule" d="M{at:.1f} {frame.floor}v5"/>')
        out.append(
            f'<text x="{at:.1f}" y="{frame.floor + 18}" text-anchor="{anchor}">'
            f"{short_seconds(second, seconds[-1])}</text>"
        )
    edges = [x(t) for t in shown.times] + [x(shown.seconds)]
    seen = edges[shown.top] + 2  # a short peak must be seen, too
    edges[shown.top + 1 :] = [max(e, seen) for e in edges[shown.top + 1 :]]
    lower = [0] * len(shown.times)
    for layer in shown.layers:
        upper = [a + b for a, b in zip(lower, layer.values)]
        path = _area(edges, [y(v) for v in lower], [y(v) for v in upper])
        told = html.escape(f"{layer.place}  {layer.source}".strip())
        out.append(
            f'<path class="area c{layer.colour}" d="{path}">'
            f"<title>{told}: up to {human(layer.largest)}</title></path>"
        )
        rim = _rim(edges, [y(v) for v in upper])
        out.append(f'<path class="rim" d="{rim}"/>')
        lower = upper
    if limit is not None:
        out.append(f'<path class="limit" d="M{frame.left} {y(limit):.1f}h{room}"/>')
        out.append(
            f'<text class="peak" x="{frame.left + 6}" y="{y(limit) - 5:.1f}">limit'
            f" {short_bytes(limit)}</text>"
        )
    return "\n".join(
        [*out, *_peak(shown, frame, x(shown.times[shown.top]), y(largest))]
    )


def _peak(shown: Chart, frame: Frame, x: float, y: float) -> list[str]:
    """The mark of the peak and its words."""
    top = shown.top
    words = f"peak {human(shown.totals[top])} at {duration(shown.times[top])}"
    half = len(words) * LETTER / 2
    middle = min(max(x, frame.left + half), frame.width - frame.right - half)
    return [
        f'<circle class="peak" cx="{x:.1f}" cy="{y:.1f}" r="4.5"/>',
        f'<text class="peak" x="{middle:.1f}" y="{y - 11:.1f}" text-anchor="middle">'
        f"{words}</text>",
    ]


def _area(edges: list[float], lower: list[float], upper: list[float]) -> str:
    """The path around the steps between two courses."""
    there = _steps(edges, upper)
    back = _steps(edges, lower)[::-1]
    points = [f"{x:.1f} {y:.1f}" for x, y in (*there, *back)]
    return f"M{'L'.join(points)}Z"


def _steps(edges: list[float], heights: list[float]) -> list[tuple[float, float]]:
    """Corners of a course that keeps each height until the next edge."""
    return [corner for run in _runs(edges, heights) for corner in run]


def _runs(edges: list[float], heights: list[float]) -> list[tuple[Point, Point]]:
    """The stretches of equal height of such a course: where each begins and ends."""
    runs = []
    begin, last = edges[0], heights[0]
    for x, height in zip(edges, heights):
        if abs(height - last) >= 0.05:
            runs.append(((begin, last), (x, last)))
            begin, last = x, height
    return [*runs, ((begin, last), (edges[-1], last))]


def _rim(edges: list[float], upper: list[float]) -> str:
    """The path of the level stretches on top of an area; walls of peaks stay visible."""
    runs = [
        (begin, end) for begin, end in _runs(edges, upper) if end[0] - begin[0] >= 1
    ]
    return "".join([f"M{x:.1f} {y:.1f}H{end:.1f}" for (x, y), (end, _) in runs])


def summary(shown: Chart) -> str:
    """The picture in words."""
    top = shown.top
    held = [
        f"{layer.place} {human(layer.values[top])}"
        for layer in sorted(shown.layers, key=lambda layer: -layer.values[top])
        if layer.values[top]
    ]
    return (
        f"Memory of {shown.device} over {duration(shown.seconds)}, stacked by the"
        f" source line that made it. Peak {human(shown.totals[top])} at"
        f" {duration(shown.times[top])}: {', '.join(held) or 'nothing'}."
    )


ROW = 20


def file(shown: Chart) -> str:
    """A picture on its own: the drawing, and below it which colour is which line."""
    frame = WIDE
    height = frame.height + ROW * (len(shown.layers) + 1) + 16
    top = shown.top
    out = [
        '<svg xmlns="http://www.w3.org/2000/svg" class="tetrad tetrad-chart"'
        f' width="{frame.width}" height="{height}" viewBox="0 0 {frame.width} {height}" role="img"'
        ' aria-labelledby="words">',
        f'<title id="words">{html.escape(summary(shown))}</title>',
        f"<style>\n{VARIABLES}{STYLE}</style>",
        '<rect width="100%" height="100%" style="fill:var(--paper)"/>',
        drawing(shown, frame),
    ]
    letters = max([len(layer.place) for layer in shown.layers], default=0)
    sources = frame.left + 134 + letters * LETTER
    out.append(
        f'<text x="{frame.left + 100}" y="{frame.height + 14}" text-anchor="end">'
        "at the peak</text>"
    )
    for number, layer in enumerate(reversed(shown.layers)):
        y = frame.height + 14 + ROW * (number + 1)
        place, source = html.escape(layer.place), html.escape(layer.source)
        out += [
            f'<rect class="c{layer.colour}" x="{frame.left}" y="{y - 9}" width="12"'
            ' height="12" rx="2"/>',
            f'<text x="{frame.left + 100}" y="{y + 1}" text-anchor="end">'
            f"{human(layer.values[top])}</text>",
            f'<text class="line" x="{frame.left + 116}" y="{y + 1}">{place}</text>',
            f'<text class="line" x="{sources:.0f}" y="{y + 1}">{source}</text>',
        ]
    return "\n".join([*out, "</svg>"]) + "\n"
