"""Every example runs as a program does, and finds what it is known to find."""

import importlib.util
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"


def run(name, *args):
    """What main() of an example returns; its module is loaded afresh."""
    path = EXAMPLES / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"example_{name}", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.main(*args)


def test_eight_schools():
    found = run("eight_schools")
    # Posterior means of the usual analysis (Gelman et al., Bayesian Data Analysis).
    assert found["mean"] == pytest.approx(4.4, abs=0.4)
    assert found["spread"] == pytest.approx(3.6, abs=0.5)
    assert found["school A"] == pytest.approx(6.2, abs=0.6)
    assert 0.7 < found["acceptance"] < 0.9
    assert found["r_hat"] < 1.02


def test_kepler():
    found = run("kepler")
    assert found["perihelion"] == pytest.approx(0.586, abs=0.002)
    assert found["aphelion"] == pytest.approx(35.08, abs=0.02)
    assert found["derivative error"] < 1e-5


def test_lynx_and_hares():
    found = run("lynx_and_hares")
    # Rates of the usual Bayesian fit of the same record: .55, .028, .024, .80.
    assert found["rates"] == pytest.approx([0.55, 0.028, 0.024, 0.80], rel=0.05)
    assert found["misfit"] < 0.06
    assert found["along"] == pytest.approx(found["difference"], rel=0.01)


def test_heat():
    found = run("heat")
    assert found["error"] < 2e-3
    assert found["loss"] < 1e-3


def test_char_rnn():
    found = run("char_rnn", 120)
    # An untrained network is as surprised as a die with 94 sides: log 94 = 4.54.
    assert found["first"] == pytest.approx(4.54, abs=0.2)
    assert found["last"] < 2.4
    assert found["written"].startswith("The ")


@pytest.mark.slow
def test_char_rnn_to_the_end():
    assert run("char_rnn")["last"] < 1.8


def test_find_a_leak(capsys, tmp_path):
    page = tmp_path / "leak.html"
    found = run("find_a_leak", page)
    assert found["line"] == "weights, loss = step(weights, x, y)"
    assert found["arrays"] == 30
    assert found["grew"] == 30 * 20_000 * 4
    assert found["mended"] == 0
    assert found["same losses"] < 1e-6
    text = capsys.readouterr().out
    assert "grew by 2.3 MiB, 78 KiB a step" in text
    assert "30 × float32[20000]" in text
    assert page.read_text().startswith("<!doctype html>")
