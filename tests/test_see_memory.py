"""Memory that can be seen: numbers of a block, the table by line, time, files."""

import _thread
import gc
import json
import random
import re
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from types import SimpleNamespace

import numpy as np
import pytest
from support import Page, calls_of

import tetrad as jax
import tetrad.numpy as jnp
from tetrad._src.runtime.history import Change, History, thinned
from tetrad._src.runtime.ledger import Ledger
from tetrad._src.see import picture
from tetrad._src.see.memory import DeviceMemory, age, signed
from tetrad._src.util import frames

pytestmark = pytest.mark.usefixtures("no_collection")

KIB = 1024
WORDS = 256 * KIB  # float32 elements of 1 MiB


def mib(n):
    return n * KIB * KIB


def rows(report):
    """The rows of the table by the text of their line."""
    found = {}
    for device in report.devices:
        for line in device.by_line:
            found[line.source] = line
    return found


# ------------------------------------------------------------------------------- numbers


def test_peak_current_delta_and_allocated_of_a_block():
    with jax.see.memory() as m:
        a = jnp.ones(2 * WORDS).block_until_ready()
        b = jnp.ones(WORDS).block_until_ready()
        del a
        c = jnp.ones(WORDS // 2).block_until_ready()
    assert m.delta == b.nbytes + c.nbytes
    assert m.current == m.bytes_in_use
    assert m.peak == m.current - m.delta + mib(3)
    assert m.allocated == mib(3.5)
    assert m.allocations == 3


def test_what_the_block_recorded_counts_and_what_was_recorded_before_does_not():
    before = jnp.ones(WORDS) + 1
    with jax.see.memory() as m:
        made = jnp.ones(WORDS) * 3
    assert m.delta == mib(1)
    del before, made


def test_numbers_of_a_block_stay_and_those_inside_of_it_move():
    with jax.see.memory() as m:
        a = jnp.ones(WORDS)
        assert m.delta == mib(1)
        b = jnp.ones(WORDS)
        assert m.delta == mib(2)
        del a
        assert m.delta == mib(1)
    del b
    assert m.delta == mib(1)


def test_blocks_inside_and_beside_each_other_do_not_disturb_each_other():
    with jax.see.memory() as outer:
        a = jnp.ones(4 * WORDS).block_until_ready()
        del a
        with jax.see.memory() as inner:
            b = jnp.ones(WORDS)
        second = jax.see.memory()
        second.__enter__()
    c = jnp.ones(2 * WORDS).block_until_ready()
    second.__exit__(None, None, None)
    assert outer.peak - (outer.current - outer.delta) == mib(4)
    assert inner.peak - (inner.current - inner.delta) == mib(1)
    assert second.delta == mib(2)
    del b, c


def test_a_peak_is_that_of_the_block_and_that_of_the_process_stays():
    device = jax.devices()[0]
    big = jnp.ones(8 * WORDS).block_until_ready()
    peak = device.memory_stats()["peak_bytes_in_use"]
    del big
    with jax.see.memory() as m:
        x = jnp.ones(WORDS)
    assert m.peak < peak
    assert device.memory_stats()["peak_bytes_in_use"] == peak
    assert jax.see.memory().peak >= peak
    del x


def test_a_block_ends_with_its_numbers_when_it_raises():
    with pytest.raises(ZeroDivisionError), jax.see.memory() as m:
        a = jnp.ones(WORDS)
        1 / 0
    assert m.delta == mib(1)
    del a


def test_looking_raises_nothing_that_belongs_elsewhere():
    device = jax.devices()[0]
    with jax.see.memory() as m:
        x = jnp.ones((1 << 40,), "int8")
    assert m.delta == 0
    with pytest.raises(jax.errors.OutOfMemoryError):
        x.block_until_ready()
    assert device.memory_stats()["bytes_in_use"] >= 0


def test_copies_by_updates_are_counted():
    x = jnp.zeros(WORDS).block_until_ready()
    with jax.see.memory() as m:
        old = x
        x = x.at[0].set(1)
        x.block_until_ready()
        x = x.at[1].set(1)
    assert (m.copies, m.copied) == (1, mib(1))
    assert "updates copied their arrays 1 time, 1.0 MiB" in str(m)
    assert "copies by updates" in m.html()
    assert jax.see.memory().copies >= 1
    del old


def test_a_report_without_a_block_is_of_now():
    a = jnp.ones(WORDS) + 1
    m = jax.see.memory()
    assert rows(m)["a = jnp.ones(WORDS) + 1"].nbytes == mib(1)
    assert m.delta == 0
    held = m.current
    del a
    assert m.current == held
    with pytest.raises(ValueError, match="with see.memory"):
        m.timeline()


def test_a_compiled_call_has_one_entry_for_each_result():
    @jax.jit
    def f(x):
        for _ in range(100):
            x = jnp.sin(x) + 1
        return x, -x

    x = jnp.ones(WORDS).block_until_ready()
    f(x)
    with jax.see.memory() as m:
        y, z = f(x)
    assert m.allocations == 2
    assert {moment.line for moment in m.timeline()} == {y_line(y)}
    del y, z


def y_line(array):
    return frames.format_where(array.where)


def test_a_device_has_the_numbers_that_gpus_have_in_jax():
    # In a process of its own: other tests start their peaks anew.
    code = "import json, tetrad as jax, tetrad.numpy as jnp; x = jnp.ones(100) + 1"
    code += "; x.block_until_ready()"
    code += "; print(json.dumps(jax.devices('cpu')[0].memory_stats()))"
    command = [sys.executable, "-c", code]
    stats = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
    assert 400 <= stats["bytes_in_use"] <= stats["peak_bytes_in_use"]
    assert stats["peak_bytes_in_use"] <= stats["bytes_limit"]
    assert 400 <= stats["largest_alloc_size"] <= stats["peak_bytes_in_use"]
    assert stats["num_allocs"] > 0
    assert stats["bytes_reserved"] == stats["peak_bytes_reserved"] == 0


# --------------------------------------------------------------------- the table by line


def test_a_row_has_bytes_count_types_age_and_the_text_of_the_line():
    begun = time.monotonic()
    with jax.see.memory() as m:
        held = [jnp.ones((256, KIB)) * i for i in range(3)]
        held[0].block_until_ready()
        time.sleep(0.02)
        other = jnp.arange(10)
    row = rows(m)["held = [jnp.ones((256, KIB)) * i for i in range(3)]"]
    assert (row.nbytes, row.arrays, row.change) == (mib(3), 3, mib(3))
    assert row.types == (("float32[256,1024]", 3),)
    assert row.what() == "3 × float32[256,1024]"
    made = test_a_row_has_bytes_count_types_age_and_the_text_of_the_line.__code__
    assert row.place.endswith(f"test_see_memory.py:{made.co_firstlineno + 3}")
    assert 0.02 <= row.oldest <= time.monotonic() - begun
    assert rows(m)["other = jnp.arange(10)"].types == (("int32[10]", 1),)
    text = str(m)
    assert "3 × float32[256,1024]" in text
    assert "test_see_memory.py:" in text
    assert "held = [jnp.ones((256, KIB)) * i for i in range(3)]" in text
    del held, other


def test_rows_tell_what_was_there_at_the_peak():
    with jax.see.memory() as m:
        a = jnp.ones(3 * WORDS).block_until_ready()
        del a
        b = jnp.ones(WORDS).block_until_ready()
    gone = rows(m)["a = jnp.ones(3 * WORDS).block_until_ready()"]
    assert (gone.nbytes, gone.arrays, gone.peak, gone.change) == (0, 0, mib(3), 0)
    assert gone.oldest is None
    kept = rows(m)["b = jnp.ones(WORDS).block_until_ready()"]
    assert (kept.nbytes, kept.peak, kept.change) == (mib(1), 0, mib(1))
    table = str(m).splitlines()
    assert table[1].split()[:5] == ["now", "change", "at", "peak", "arrays"]
    del b


def test_temporary_memory_of_a_program_has_the_line_of_its_call():
    @jax.jit
    def twice(x):
        return (x @ x) @ x

    x = jnp.ones((512, 512)).block_until_ready()
    twice(x)
    with jax.see.memory() as m:
        y = twice(x).block_until_ready()
    row = rows(m)["y = twice(x).block_until_ready()"]
    assert row.nbytes == mib(1)
    assert row.peak >= mib(2)
    del y


def test_an_update_in_place_keeps_the_birth_line_and_takes_the_new_type():
    x = (jnp.ones(WORDS) + 1).block_until_ready()
    pointer = x.unsafe_buffer_pointer()
    x = x.view("int32") + 1
    x.block_until_ready()
    row = rows(jax.see.memory())["x = (jnp.ones(WORDS) + 1).block_until_ready()"]
    assert x.unsafe_buffer_pointer() == pointer
    assert row.types == (("int32[262144]", 1),)


def test_many_lines_are_cut_and_counted():
    source = "made = [\n" + "".join([f"  jnp.ones(1000 + {i}),\n" for i in range(30)])
    names = {"jnp": jnp}
    with jax.see.memory() as m:
        exec(compile(source + "]\n", "many.py", "exec"), names)
    mine = [row for row in m.devices[0].by_line if row.place.startswith("many.py")]
    assert len(mine) == 30
    assert mine[0].place == "many.py:31"
    last = str(m.devices[0]).splitlines()[-1]
    assert re.fullmatch(r"  … and \d+ more lines with .* KiB", last)
    names.clear()


def test_ages_and_changes_in_words():
    assert [age(s) for s in (None, 0.004, 1.25, 59, 61, 7200, 90000)] == [
        "", "4 ms", "1.2 s", "59 s", "1.0 min", "2.0 h", "1.0 d",
    ]  # fmt: skip
    assert [signed(n) for n in (0, 2048, -3)] == ["±0", "+2.0 KiB", "−3 B"]


# ------------------------------------------------------------------------------ timeline


def test_the_timeline_tells_each_change_in_order():
    gc.collect()
    with jax.see.memory() as m:
        a = jnp.ones(WORDS).block_until_ready()
        b = jnp.ones(2 * WORDS).block_until_ready()
        del a
    moments = m.timeline()
    begin = m.current - m.delta
    large = [x for x in moments if abs(x.delta) >= mib(1)]
    assert [x.delta for x in large] == [mib(1), mib(2), -mib(1)]
    assert [x.bytes - begin for x in large] == [mib(1), mib(3), mib(2)]
    assert large[0].line == large[2].line != large[1].line
    times = [x.seconds for x in moments]
    assert times == sorted(times)
    assert times[0] >= 0
    assert max(x.bytes for x in moments) == m.peak
    assert moments[-1].bytes == m.current
    del b


def test_nothing_is_recorded_while_nobody_looks():
    ledger = jax.devices()[0].ledger
    assert ledger.listeners == ()
    with jax.see.memory() as m:
        assert len(ledger.listeners) == 1
    assert ledger.listeners == ()
    x = jnp.ones(WORDS).block_until_ready()
    assert m.timeline() == []
    del x


def course(seed, count):
    """Changes that allocate and free for a few lines, and the line's code objects."""
    rng = random.Random(seed)
    codes = [compile("0", f"line{i}", "eval") for i in range(5)]
    held = 100
    live = [(codes[0], 100)]
    changes = []
    for i in range(count):
        if live and rng.random() < 0.5:
            code, nbytes = live.pop(rng.randrange(len(live)))
            nbytes = -nbytes
        else:
            code, nbytes = rng.choice(codes), rng.randrange(1, 50)
            live.append((code, nbytes))
        held += nbytes
        changes.append(Change(float(i), held, (code, 0), nbytes))
    return changes


def sums(changes):
    found = {}
    for change in changes:
        key = change.line[0].co_filename
        found[key] = found.get(key, 0) + change.nbytes
    return {key: n for key, n in found.items() if n}


@pytest.mark.parametrize("size", [2, 16, 10_000])
def test_summing_up_keeps_peaks_and_sums(size):
    for seed in range(20):
        changes = course(seed, 500)
        made = thinned(changes, size)
        assert max(c.held for c in made) == max(c.held for c in changes)
        assert made[-1].held == changes[-1].held
        assert sums(made) == sums(changes)
        assert all(c.held >= 0 for c in made)
        assert [c.time for c in made] == sorted(c.time for c in made)
        if size == 10_000:
            assert len(made) <= 10


def test_a_long_history_stays_bounded():
    ledger = Ledger()
    history = History(ledger, limit=100)
    history.start()
    code = [compile("0", f"line{i}", "eval") for i in range(3)]
    for i in range(5000):
        ledger.note(i, 10 + (i == 2500) * 1000, (code[i % 3], 0))
        if i >= 4:
            ledger.forget(i - 4)
    history.stop()
    assert len(history.changes) <= 101
    assert history.peak == max(c.held for c in history.changes) == 1050
    assert history.changes[-1].held == history.end == ledger.held
    assert history.allocations == 5000
    assert {line[0].co_filename: n for line, n in history.at_peak() if n > 500} == {
        "line1": 1020
    }


def test_a_history_of_more_lines_than_it_can_hold_is_still_bounded():
    ledger = Ledger()
    history = History(ledger, limit=40)
    history.start()
    for i in range(500):
        ledger.note(i, 1, (compile("0", "many", "eval"), i))
    history.stop()
    assert len(history.changes) <= 41
    assert history.changes[-1].held == 500


# --------------------------------------------------------------------------------- files


def report(with_block=True):
    if not with_block:
        return jax.see.memory()
    with jax.see.memory() as m:
        kept = [jnp.ones(WORDS) * i for i in range(3)]
        jnp.ones(4 * WORDS).block_until_ready()
        kept.append((jnp.ones(10) < 3).block_until_ready())
    del kept
    return m


def used(m):
    """How many devices a report shows; other tests may have used a plugin."""
    return sum(bool(d.by_line or d.peak or d.allocated) for d in m.devices)


def test_the_page_is_one_file_with_pictures_table_and_data(tmp_path):
    m = report()
    path = tmp_path / "memory.html"
    m.save(path)
    text = path.read_text()
    page = Page(text)
    assert text.startswith("<!doctype html>")
    assert page.all("html")[0]["lang"] == "en"
    assert {"charset": "utf-8"} in page.all("meta")
    assert any(a.get("name") == "viewport" for a in page.all("meta"))
    assert not re.search(r"(src|href|@import|url\()", text)
    assert "http" not in text
    assert "prefers-color-scheme:dark" in text
    assert "max-width:640px" in text
    wide, narrow = page.all("svg")[:2]
    assert "wide" in wide["class"] and "narrow" in narrow["class"]
    assert wide["role"] == "img" and "Peak" in wide["aria-label"]
    assert len(page.all("table")) == used(m)
    assert any("kept = [jnp.ones(WORDS)" in t for t in page.texts["code"])
    data = json.loads(page.texts["script"][0])
    assert data["totals"][data["top"]] == max(data["totals"])
    assert all(len(x["values"]) == len(data["times"]) for x in data["layers"])
    sums = [sum(v) for v in zip(*[x["values"] for x in data["layers"]])]
    assert sums == data["totals"]


def test_the_page_of_now_has_a_table_and_no_picture():
    x = jnp.ones(WORDS)
    m = report(with_block=False)
    page = Page(m.html())
    assert page.all("svg") == []
    assert len(page.all("table")) == sum(bool(d.by_line) for d in m.devices)
    del x


def test_source_text_cannot_break_out_of_the_page():
    name = "<script>alert(1)</script>&\"'.py"
    names = {"jnp": jnp}
    source = "a = jnp.ones(1000)\n"
    with jax.see.memory() as m:
        exec(compile(source, name, "exec"), names)
    text = m.html()
    assert "<script>alert" not in text
    Page(text)
    ElementTree.fromstring(m.svg())
    names.clear()


def test_the_picture_is_an_svg_file(tmp_path):
    path = tmp_path / "memory.svg"
    report().save(path)
    root = ElementTree.fromstring(path.read_text())
    assert root.tag.endswith("svg")
    text = path.read_text()
    assert "peak" in text
    assert "prefers-color-scheme:dark" in text
    assert "kept = [jnp.ones(WORDS) * i for i in range(3)]" in text


def test_the_data_is_json(tmp_path):
    m = report()
    path = tmp_path / "memory.json"
    m.save(str(path))
    data = json.loads(path.read_text())
    assert data["peak"] == m.peak
    assert data["delta"] == m.delta
    assert [tuple(x) for x in data["timeline"]] == m.timeline()
    assert data["devices"][0]["by_line"][0]["nbytes"] == m.devices[0].by_line[0].nbytes


def test_other_endings_are_refused():
    with pytest.raises(ValueError, match=r"\.html, \.svg or \.json"):
        jax.see.memory().save("memory.png")


def test_a_notebook_shows_picture_and_table():
    m = report()
    page = Page(m._repr_html_())
    assert page.elements[0] == ("div", {"class": "tetrad"})
    assert page.all("script") == []
    assert len(page.all("table")) == used(m)
    assert len(page.all("svg")) == 2 * used(m)


# ------------------------------------------------------------------------------- drawing


def test_layers_are_the_lines_that_held_most_and_the_rest_is_one():
    ledger = Ledger()
    history = History(ledger)
    history.start()
    codes = [compile("0", f"line{i}.py", "eval") for i in range(12)]
    for i, code in enumerate(codes):
        ledger.note(i, 100 * (i + 1), (code, 0))
    history.stop()
    device = SimpleNamespace(history=history, device="cpu:0", limit=None)
    chart = picture.chart(device)
    assert [layer.place for layer in chart.layers[:2]] == ["line11.py:0", "line10.py:0"]
    assert chart.layers[-1].place == picture.OTHER
    assert len(chart.layers) == picture.LAYERS + 1
    assert chart.totals[chart.top] == 7800
    assert chart.layers[-1].largest == sum(100 * (i + 1) for i in range(5))


def test_a_long_history_gives_a_small_picture_with_its_peak():
    ledger = Ledger()
    history = History(ledger)
    history.start()
    code = compile("0", "line.py", "eval")
    for i in range(15_000):
        ledger.note(i, 100, (code, 0))
        ledger.forget(i - 3)
    history.stop()
    device = SimpleNamespace(history=history, device="cpu:0", limit=450)
    chart = picture.chart(device)
    assert len(chart.times) <= 2 * picture.COLUMNS + 3
    assert max(chart.totals) == 400
    assert "limit 450 B" in picture.drawing(chart, picture.WIDE)


def test_ticks_are_round_and_few():
    for largest in (1, 5, 1000, 1024, 123456, mib(15.4), mib(700), mib(5000)):
        ticks = picture.byte_ticks(int(largest), 5)
        assert len(ticks) <= 6
        assert ticks[-1] >= largest
        assert ticks[-1] <= 3 * largest + 2
    for seconds in (3e-6, 0.0021, 0.9, 3.2, 100.0, 9000.0):
        ticks = picture.second_ticks(seconds, 8)
        assert 4 <= len(ticks) <= 9
        assert ticks[-1] <= seconds * 1.0001


# ---------------------------------------------------------------------------------- work


def test_reports_of_many_arrays_look_at_each_once():
    count = 100_000
    ledger = Ledger()
    codes = [compile("0", f"line{i}.py", "eval") for i in range(50)]
    aval = jnp.ones(3).aval
    for i in range(count):
        ledger.note(i, 12, (codes[i % 50], 0), None, aval)
    device = SimpleNamespace(ledger=ledger)
    reports = []
    assert calls_of(lambda: reports.append(DeviceMemory(device))) < 1.5 * count
    assert len(reports[0].by_line) == 50
    assert reports[0].by_line[0].types == (("float32[3]", 2000),)
    history = History(ledger)
    assert calls_of(history.start) + calls_of(history.stop) < 1.5 * count
    assert sum(n for _, n in history.before) == 12 * count


def test_live_arrays_are_those_that_are_held():
    before = len(jax.live_arrays())
    kept = [jnp.asarray(np.float32(i)) for i in range(20_000)]
    assert calls_of(jax.live_arrays) < 1000  # no call for each array
    found = jax.live_arrays()
    assert len(found) == before + 20_000
    assert {id(x) for x in kept} <= {id(x) for x in found}
    assert jax.live_arrays("cpu")
    del found, kept
    assert len(jax.live_arrays()) == before


def test_a_thread_that_calls_the_library_itself_has_no_line(monkeypatch):
    x = jnp.ones(10).block_until_ready()
    problems = []
    monkeypatch.setattr(sys, "unraisablehook", problems.append)
    threads = _thread._count()
    _thread.start_new_thread(jnp.add, (x, x))
    time.sleep(0.05)
    for _ in range(500):
        if problems or _thread._count() <= threads:
            break
        time.sleep(0.01)
    assert problems == []


def test_the_line_is_the_users_however_deep_the_call_is():
    x = jnp.ones((4, 4)).block_until_ready()
    made = {
        "operator": x + x,
        "ufunc": jnp.add(x, x),
        "unary": jnp.sin(x),
        "lax": jax.lax.add(x, x),
        "several": jnp.linalg.qr(x)[0],
        "jit": jax.jit(lambda x: x + 1)(x),
        "method": x.sum(),
        "map": next(map(jnp.cos, [x])),
    }
    for name, array in made.items():
        assert array.where[0].co_filename == __file__, name
