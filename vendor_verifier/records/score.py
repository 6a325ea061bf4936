"""The judgement of one answer: whether it calls a tool, whether its arguments fit, what its evaluation gives it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec

from vendor_verifier.records.event import Amount

Decision = Literal["called", "not_called", "undecided"]
CallClass = Literal[
    "valid", "invalid_json", "unknown_tool", "schema_mismatch", "empty_arguments", "schema_unusable",
    "valid_in_dialect", "not_judged",
]  # fmt: skip
FeatureStatus = Literal["kept", "broken", "not_offered", "not_measurable"]


class CallVerdict(msgspec.Struct, frozen=True):
    """The verdict on one tool call's arguments.

    ``empty_arguments`` marks ``""`` sent to a known tool without required arguments, ``valid_in_dialect`` arguments
    that fit the schema only as its dialect means it: both valid when lenient, invalid when strict. ``not_judged``:
    judging would have cost too much. ``pointer`` is the JSON pointer of the first violation inside the arguments.
    """

    tool: str
    verdict: CallClass
    message: str | None = None
    pointer: str | None = None


class Score(msgspec.Struct, frozen=True):
    """One suite's judgement of one record. ``values`` are numbers in [0, 1] or ``None`` (not measurable)."""

    suite: str
    decision: Decision = "undecided"
    calls: tuple[CallVerdict, ...] = ()
    values: Mapping[str, Amount | None] = {}
    details: Mapping[str, Any] = {}
    anomalies: tuple[str, ...] = ()

    @property
    def reason(self) -> str | None:
        """The words of the evaluation on why it scores as it does; None where it has none."""
        if not self.details:
            return None
        told = (self.details.get(key) for key in ("error", "reason", "details"))
        texts = ("; ".join(map(str, each)) if isinstance(each, (list, tuple)) else each for each in told)
        return next((text for text in texts if isinstance(text, str) and text), None)
