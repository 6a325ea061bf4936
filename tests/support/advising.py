"""Hand-made verdicts and choices for the tests of what is shown of them."""

from __future__ import annotations

from changing import replace

from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.score import Report
from vendor_verifier.records.verdict import BEST_FIRST, FACETS, Advice, Choice, Facet, FacetName, Status, VendorVerdict

REASON = "answered as <b>another</b> model in 60 of 60"


def vendor_verdict(
    label: str, status: Status = "as_sold", facet: FacetName = "model", *, is_reference: bool = False
) -> VendorVerdict:
    """A vendor with that status for that facet, as sold in the others."""
    facets = tuple(
        Facet(name, status, REASON, "another_model_served", 0.0004, Estimate(1.0, 0.94, 1.0, 60), ("s-1", "s-2"))
        if name == facet and status != "as_sold"
        else Facet(name, "as_sold", "nothing was found")
        for name in FACETS
    )
    return VendorVerdict(label, status, facets, is_reference)


def advice(*vendors: VendorVerdict, **choice: object) -> Advice:
    """The verdicts with a choice; none of them is to be taken unless ``choice`` says so."""
    counts = {each: sum(one.status == each for one in vendors) for each in (*BEST_FIRST, "too_little_evidence")}
    chosen = {"kind": "none", "of": len(vendors), "counts": counts} | choice
    return Advice({each.label: each for each in vendors}, Choice(**chosen))  # type: ignore[arg-type]


_ROUND: tuple[tuple[Status, FacetName], ...] = (
    ("as_sold", "model"), ("not_as_sold", "model"), ("doubtful", "bill"), ("unusable", "reliability"),
    ("too_little_evidence", "tool_calls"), ("as_sold", "model"),
)  # fmt: skip


def advised(report: Report) -> Report:
    """The report with a verdict of each kind in turn on the vendors beside the baseline."""
    found = {}
    for model in report.models:
        others = [vendor.label for vendor in model.vendors if not vendor.is_baseline]
        verdicts = [
            vendor_verdict(vendor.label, is_reference=True)
            if vendor.is_baseline
            else vendor_verdict(vendor.label, *_ROUND[others.index(vendor.label) % len(_ROUND)])
            for vendor in model.vendors
        ]
        sold = tuple(each.label for each in verdicts if each.status == "as_sold" and not each.is_reference)
        kind = "none" if not sold else "only" if len(sold) == 1 else "tie"
        counts = {each: sum(one.status == each and not one.is_reference for one in verdicts) for each in BEST_FIRST}
        found[model.model] = advice(*verdicts, kind=kind, labels=sold, of=len(others), counts=counts)
    return replace(report, advice=found)
