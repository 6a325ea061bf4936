"""A scored run: its report, and the frames that the report was made from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pandas as pd

from vendor_verifier.records.manifest import Manifest
from vendor_verifier.records.results import Finding, Report
from vendor_verifier.records.sample import Samples
from vendor_verifier.scoring.answer import AnswerTexts
from vendor_verifier.scoring.money import Money

EntryKey = tuple[str, str]


@dataclass(frozen=True)
class ScoredRun:
    """Everything that renderers read.

    ``records``, ``attempts`` and ``evaluations`` are the frames of :mod:`vendor_verifier.scoring.table`. ``findings``
    are all that were made, worst first; the report holds the worst of each facet. ``money`` is by (model, label).
    """

    manifest: Manifest
    report: Report
    records: pd.DataFrame
    attempts: pd.DataFrame
    evaluations: pd.DataFrame
    samples: Mapping[str, Samples]
    texts: AnswerTexts
    findings: tuple[Finding, ...] = ()
    money: Mapping[EntryKey, Money] = field(default_factory=dict)
