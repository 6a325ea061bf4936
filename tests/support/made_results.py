"""Hand-made results for the tests of reports: figures are chosen, and every hostile text is in one place."""

from __future__ import annotations

from typing import Any

from vendor_verifier.records.results import (
    FACETS,
    Choice,
    Facet,
    FacetName,
    ModelResult,
    Report,
    Status,
    TriggerCounts,
    VendorResult,
    Verdict,
)

HOSTILE = (
    '=HYPERLINK("http://evil.example";"x")',
    "[link=https://evil.example]click[/link] [red]",
    "\x1b]8;;http://evil.example\x07hi\x1b[2J",
    "\u202egnp.exe\u200b|</td></script><script>alert(1)</script><img src=http://evil.example onerror=alert(1)>",
    "::error::owned\n::set-output name=x::y",
    "| `a` | ![x](https://www.evil.example/x.png)",
)


def verdict(status: Status, reason: str = "seen", facet: FacetName = "model", command: str = "") -> Verdict:
    """A verdict that ``facet`` alone decides; the other facets match."""
    facets = {name: Facet(status="matches", reason="nothing was found") for name in FACETS}
    if status != "matches":
        facets[facet] = Facet(status=status, reason=reason, p_value=0.0001, n=300, command=command)
    return Verdict(status, reason, facets)


def vendor(label: str, status: Status = "matches", **changes: Any) -> VendorResult:
    """A vendor that measured everything on 315 samples."""
    values: dict[str, Any] = {
        "label": label, "vendor": "acme", "model_id": "acme/model-1", "place": 1.0, "irf": 0.869, "f1": 0.8427,
        "success_rate": 1.0, "schema_accuracy": 0.9985, "avg_tokens": 1816.4, "avg_ttft_ms": 777.25, "tps": 92.81,
        "counts": TriggerCounts(150, 10, 5, 150, 150 / 160, 150 / 155, 2),
        "measured": dict.fromkeys(("success_rate", "f1", "avg_tokens", "avg_ttft_ms", "tps"), 315),
        "verdict": verdict(status, f"{label} was seen to be {status}", command=f"explain --vendor {label}"),
        **dict.fromkeys(("planned", "recorded", "succeeded"), 315),
    }  # fmt: skip
    return VendorResult(**values | changes)


def unmeasured(label: str) -> VendorResult:
    return VendorResult(label=label, vendor="acme", model_id="m", verdict=Verdict("down", "refused all requests"))


def report(*vendors: VendorResult, text: str = "Nobody can be recommended.", **changes: Any) -> Report:
    """A report on one model; the first vendor is the baseline where it is the reference."""
    baseline = next((each.label for each in vendors if each.verdict.status == "reference"), None)
    by_label = {each.label: each for each in vendors}
    model = ModelResult(baseline=baseline, choice=Choice("none", (), text), vendors=by_label)
    return Report(run="20261122T020000Z", **{"complete": True, "models": {"model-1": model}, **changes})
