"""The tool that compares with JAX: enough cases, and eyes for what differs."""

import collections
import itertools
import sys
import types
from pathlib import Path

import numpy as np
import pytest

import tetrad

sys.path.insert(0, str(Path(__file__).parent.parent / "tools"))

from comparisons import cases, compare, known

ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="module")
def every():
    return list(cases.every())


def test_there_are_more_than_twenty_thousand_cases(every):
    assert len(every) > 20_000
    assert len({case.function for case in every}) > 450
    names = collections.Counter((case.function, case.what) for case in every)
    assert names.most_common(1)[0][1] == 1, "cases cannot be told apart"


def test_a_sample_of_cases_agrees_with_itself(every):
    for case in itertools.islice(every, 0, None, 1999):
        once, again = compare.outcome(case, tetrad), compare.outcome(case, tetrad)
        assert compare.verdict(case, once, again) is None, case.what


def outcome(*arrays, weak=False):
    return compare.Outcome(None, list(arrays), [weak] * len(arrays))


REFUSED = compare.Outcome(ValueError("no"), [], [])
CASE = cases.Case("numpy.f", "float32 main", False, lambda lib: None)
X = np.array([1.0, np.nan, np.inf, 0.0], np.float32)


@pytest.mark.parametrize(
    "one, other, kind",
    [
        (outcome(X), outcome(X), None),
        (REFUSED, REFUSED, None),
        (REFUSED, outcome(X), "ours refuses"),
        (outcome(X), REFUSED, "only JAX refuses"),
        (outcome(X), outcome(X, X), "structure"),
        (outcome(X), outcome(X[:3]), "shape"),
        (outcome(X), outcome(X.astype("float64")), "dtype"),
        (outcome(X), outcome(X, weak=True), "weak type"),
        (outcome(X), outcome(X + np.float32(1e-3)), "values"),
        (outcome(X), outcome(-X), "values"),
        (outcome(np.arange(3)), outcome(np.arange(3) + 1), "values"),
        (outcome(X), outcome(X * np.float32(1 + 1e-6)), None),
    ],
)
def test_verdicts(one, other, kind):
    found = compare.verdict(CASE, one, other)
    assert (found and found.kind) == kind


def test_a_library_that_answers_wrongly_is_found(every):
    case = next(c for c in every if c.function == "numpy.add" and c.dtype == "float32")
    wrong = types.SimpleNamespace(
        numpy=types.SimpleNamespace(
            asarray=tetrad.numpy.asarray, add=tetrad.numpy.subtract
        ),
        tree=tetrad.tree, enable_x64=tetrad.enable_x64,
    )  # fmt: skip
    ours, theirs = compare.outcome(case, tetrad), compare.outcome(case, wrong)
    assert compare.verdict(case, ours, theirs).kind == "values"


def test_reasons_hold_for_their_functions_only():
    refused = compare.Difference("ours refuses", "ValueError: filt cannot be float32[]")
    scalar = CASE._replace(function="numpy.trim_zeros", what="float32[] axis=None")
    assert known.reason_for(scalar, refused) == known.SCALAR_TRIM
    assert known.reason_for(CASE, refused) is None
    assert len(list(known.reasons())) > 5


def test_every_reason_stands_in_the_documentation():
    text = (ROOT / "docs" / "differences.md").read_text()
    listed = " ".join(text.split()).lower()
    for reason in known.reasons():
        assert reason.lower() in listed
