"""The names that programs use most are here; what is not is listed, and says why."""

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def coverage():
    spec = importlib.util.spec_from_file_location(
        "coverage_tool", ROOT / "tools/coverage.py"
    )
    module = importlib.util.module_from_spec(spec)

    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_first_names_are_here(coverage):
    names = coverage.read(coverage.NAMES)
    assert len(names) == 1221
    found = [coverage.find(name, weight) for name, weight in names[:500]]
    lacking = {one.name for one in found if one.state != "here"}
    assert not lacking
    total = coverage.count(found)
    assert total.here + total.refuses + total.missing == 500
    assert total.used / total.all_uses > 0.995


def test_a_list_of_names_alone(coverage, tmp_path):
    path = tmp_path / "names.json"
    path.write_text('{"breadth": ["jax.numpy.newaxis", "jax.nothing_at_all"]}')
    found = [coverage.find(name, weight) for name, weight in coverage.read(path)]
    assert [one.state for one in found] == ["here", "missing"]
    text = coverage.report(found, 2)
    assert "1 of the first 2 names are here" in text
    assert "jax.nothing_at_all" in text
