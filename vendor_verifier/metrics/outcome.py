"""f1, success and schema_accuracy: whether a record succeeded, and how many calls fit their schema.

success = 1 if every turn of the record ended in a success, after retries; 0 otherwise, whatever the content.
schema_accuracy = valid calls ÷ calls, under two policies and in two units.

lenient: (valid + empty_arguments + valid_in_dialect) ÷ (calls − schema_unusable − not_judged). A ``""`` for a tool
without required arguments means ``{}``, a schema in a dialect means what its users mean, and a schema that cannot judge
is the dataset's defect.
strict: valid ÷ (calls − not_judged), as K2-Vendor-Verifier's result files count: all these are charged to the vendor.
What was not judged, because judging would have cost too much, is in neither.
per response (K2-Vendor-Verifier's unit): responses whose every counted call is valid ÷ responses with a counted call.
0 ÷ 0 is ``None``.

tool_call_error_rate = requests with a bad call ÷ answered requests that declared tools, as OpenRouter publishes it for
its providers (https://openrouter.ai/docs/guides/routing/auto-exacto). A call is bad with arguments that are no JSON
(``""`` is none), an unknown name, or arguments that its schema rejects. What a broken schema cannot judge is good, and
so is what fits it as draft 7 reads it (``valid_in_dialect``). An answer without calls counts, as good; a failure does
not count. A request whose calls could not be judged is left out, unless one of them is bad.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from vendor_verifier.metrics.base import Figure, Metric
from vendor_verifier.records.manifest import SchemaPolicy
from vendor_verifier.records.score import CallClass, SchemaCounts

_VALID: dict[SchemaPolicy, frozenset[CallClass]] = {
    "lenient": frozenset({"valid", "empty_arguments", "valid_in_dialect"}),
    "strict": frozenset({"valid"}),
}
_NOT_COUNTED: dict[SchemaPolicy, frozenset[CallClass]] = {
    "lenient": frozenset({"schema_unusable", "not_judged"}),
    "strict": frozenset({"not_judged"}),
}


_BAD: frozenset[CallClass] = frozenset({"invalid_json", "unknown_tool", "schema_mismatch", "empty_arguments"})


def has_bad_call(classes: Sequence[CallClass]) -> bool | None:
    """Whether one request's calls hold a bad one, as ``tool_call_error_rate`` counts; ``None`` when it is not known."""
    if any(verdict in _BAD for verdict in classes):
        return True
    return None if "not_judged" in classes else False


def response_validity(classes: Sequence[CallClass], policy: SchemaPolicy) -> bool | None:
    """Whether every counted call of one response is valid; ``None`` when no call counts."""
    counted = [verdict for verdict in classes if verdict not in _NOT_COUNTED[policy]]
    return all(verdict in _VALID[policy] for verdict in counted) if counted else None


def call_validity(classes: Sequence[CallClass], policy: SchemaPolicy) -> tuple[int, int]:
    """(valid, counted) calls of one response; valid ÷ counted over all of them is ``accuracy``."""
    counted = [verdict for verdict in classes if verdict not in _NOT_COUNTED[policy]]
    return sum(verdict in _VALID[policy] for verdict in counted), len(counted)


def schema_counts(
    responses: Iterable[Sequence[CallClass]], policy: SchemaPolicy, offered: Iterable[Sequence[CallClass]] = ()
) -> SchemaCounts:
    """Counts over responses, each given as the classes of its calls; responses without calls do not count.

    ``offered`` are those of the answered requests that declared tools, whether anything was called or not.
    """
    classes: Counter[CallClass] = Counter()
    with_calls = 0
    verdicts: dict[SchemaPolicy, Counter[bool]] = {"lenient": Counter(), "strict": Counter()}
    # Nearly all responses are alike, so each distinct one is judged once.
    for calls, times in Counter(map(tuple, responses)).items():
        for verdict in calls:
            classes[verdict] += times
        with_calls += times if calls else 0
        for each, found in verdicts.items():
            valid = response_validity(calls, each)
            if valid is not None:
                found[valid] += times
    bad: Counter[bool | None] = Counter()
    for calls, times in Counter(map(tuple, offered)).items():
        bad[has_bad_call(calls)] += times
    judged = bad[True] + bad[False]
    accuracy = {each: _accuracy(classes, each) for each in verdicts}
    per_response = {each: _share(found[True], found.total()) for each, found in verdicts.items()}
    return SchemaCounts(
        policy=policy,
        calls=classes.total(),
        classes=dict(sorted(classes.items())),
        accuracy=accuracy[policy],
        accuracy_lenient=accuracy["lenient"],
        accuracy_strict=accuracy["strict"],
        per_response=per_response[policy],
        per_response_lenient=per_response["lenient"],
        per_response_strict=per_response["strict"],
        valid_lenient=_count(classes, _VALID["lenient"]),
        valid_strict=_count(classes, _VALID["strict"]),
        responses=with_calls,
        tool_requests=judged,
        tool_call_error_rate=_share(bad[True], judged),
    )


def _accuracy(classes: Counter[CallClass], policy: SchemaPolicy) -> float | None:
    counted = classes.total() - _count(classes, _NOT_COUNTED[policy])
    return _share(_count(classes, _VALID[policy]), counted)


def _count(classes: Counter[CallClass], wanted: frozenset[CallClass]) -> int:
    return sum(classes[each] for each in wanted)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


F1 = Metric(
    name="f1",
    unit="share",
    direction="higher",
    title="F1",
    has_spread=False,
    figure=Figure(
        name="f1",
        title="F1",
        page_title="F1 Score",
        words="2·TP ÷ (2·TP + FP + FN)",
        over="pairs with the baseline",
        family="f1_ratio",
        help="F1 of triggering against the baseline; the baseline itself is left out.",
        column=1,
    ),
)
SUCCESS = Metric(
    name="success",
    unit="share",
    direction="higher",
    title="Success",
    words="1 when every turn ended in a success",
    record=lambda record: 1.0 if record.succeeded else 0.0,
    has_spread=False,
    figure=Figure(
        name="success_rate",
        title="Success",
        page_title="Success Rate",
        words="succeeded ÷ planned",
        over="samples",
        family="success_ratio",
        help="Samples that succeeded after retries.",
        column=0,
    ),
)
SCHEMA_ACCURACY = Metric(
    name="schema_accuracy",
    unit="share",
    direction="higher",
    title="Schema",
    has_spread=False,
    figure=Figure(
        name="schema_accuracy",
        title="Schema",
        page_title="Schema Accuracy",
        words="valid calls ÷ calls",
        over="tool calls",
        family="schema_accuracy_ratio",
        help="Tool calls whose arguments fit.",
        column=3,
    ),
)
TOOL_CALL_ERROR_RATE = Metric(
    name="tool_call_error_rate",
    unit="share",
    direction="lower",
    title="Tool call error rate",
    words="requests with a bad tool call ÷ answered requests that declared tools, as OpenRouter publishes it",
    has_spread=False,
)
