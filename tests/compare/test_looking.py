"""What is found of a record while it passes is found once, and never told of another."""

from __future__ import annotations

from dataclasses import dataclass, field

import synthetic_run

from vendor_verifier.metrics.measure import measured
from vendor_verifier.scoring.observation import Look
from vendor_verifier.suites.base import Play, judged
from vendor_verifier.suites.trigger import TriggerSuite
from vendor_verifier.values.sample import Sample


@dataclass
class Counting:
    """The trigger suite, counting how often it is played."""

    name: str = "trigger"
    played: list[str] = field(default_factory=list)

    def play(self, sample: Sample) -> Play:
        self.played.append(sample.id)
        return TriggerSuite().play(sample)


def test_a_record_is_judged_once_however_many_ask() -> None:
    """Two who look at every record share one judgement, the same that each would have found alone."""
    samples = {sample.id: sample for sample in synthetic_run.samples(30)}
    suite, look = Counting(), Look()
    for record in synthetic_run.records(("official", "bad"), tuple(samples.values())):
        sample = samples[record.sample]
        expected = judged(record, TriggerSuite(), sample)
        suite.played.clear()
        assert look.score(record, suite, sample) == look.score(record, suite, sample) == expected
        assert len(suite.played) == 1
        assert look.measured(record) is look.measured(record)
        assert look.measured(record) == measured(record)
