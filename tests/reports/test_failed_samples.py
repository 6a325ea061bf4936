"""failed_samples.jsonl: a row for each failed answer, and none of them in scores.json."""

from __future__ import annotations

import json

from changing import replace
from sample_reports import single

from vendor_verifier.records.blame import BlameCounts
from vendor_verifier.records.judgement import ModelVerdict
from vendor_verifier.reports import failed_samples, scores_json


def test_each_failed_answer_is_one_row_and_scores_only_count_them() -> None:
    """Whatever a vendor calls itself, a row is a line; scores.json is no larger for a thousand of them."""
    units = tuple((f"sample-{number}", number % 3) for number in range(1000))

    def report(count: int) -> str:
        blame = BlameCounts(1000, 1000, {"vendor": 1000}, 0.0, 0.0, {"vendor": units[:count]})
        judged = replace(single(), verdicts={"m": ModelVerdict(blame={"a\nb": blame})})
        rows = [json.loads(line) for line in failed_samples.render(judged).splitlines()]
        assert [(row["sample"], row["repetition"]) for row in rows] == list(units[:count])
        assert all((row["model"], row["vendor"], row["cause"]) == ("m", "a\nb", "vendor") for row in rows)
        return scores_json.render(judged)

    assert report(1000) == report(0)
