"""What a history keeps of a run."""

from __future__ import annotations

from typing import Any

from changing import replace
from manifests import some_manifest
from sample_reports import single

from vendor_verifier.features.history.figures import question_of


def question(load: dict[str, Any] | None, **settings: Any) -> str:
    report = single()
    return question_of(replace(report, manifest=some_manifest(settings={**settings, "load": load})))


def test_another_load_is_another_question() -> None:
    """Only runs under the same load are one series, and a run without a shape is what it was before there were any."""
    slow, fast = ({"request_rate": rate, "arrival": "poisson", "duration_s": 60.0} for rate in (20.0, 40.0))
    assert question(slow) == question(dict(slow), request_concurrency=7)
    assert len({question(slow), question(fast), question(None)}) == 3
    assert question(None) == question_of(single())
