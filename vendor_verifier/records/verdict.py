"""The verdict on a vendor: one word of a closed set for each facet and over all, with its strongest reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, get_args

import msgspec

from vendor_verifier.records.estimate import Estimate
from vendor_verifier.records.judgement import Standing

Status = Literal[Standing, "too_little_evidence"]
FacetName = Literal["model", "tool_calls", "bill", "reliability", "speed"]
RankedBy = Literal["irf", "score"]
ChoiceKind = Literal["nobody_answered", "reference_alone", "take", "only", "tie", "none", "undecided"]

STATUSES: tuple[Status, ...] = get_args(Status)
FACETS: tuple[FacetName, ...] = get_args(FacetName)
# From good to bad; what could not be judged stands outside this order.
BEST_FIRST: tuple[Standing, ...] = get_args(Standing)

# A vendor with one of these fails a check and its test case, in the very first run.
FAILING: frozenset[Status] = frozenset({"not_as_sold", "unusable"})


class Facet(msgspec.Struct, frozen=True):
    """The verdict on one side of a vendor.

    ``reason`` is its strongest reason in one sentence, ``finding`` the finding it comes from, ``p_value`` and
    ``estimate`` what it rests on where it is a test or a figure, ``samples`` those that show it best. Of tool calls as
    sold ``unseen_loss`` is the share of F1 or of a score that may be missing without being seen.
    """

    name: FacetName
    status: Status
    reason: str
    finding: str | None = None
    p_value: float | None = None
    estimate: Estimate | None = None
    samples: tuple[str, ...] = ()
    unseen_loss: float | None = None


class VendorVerdict(msgspec.Struct, frozen=True):
    """The verdict on one vendor: its ``status`` over all, and its facets in the order of ``FACETS``.

    The baseline is the reference (``is_reference``): of it only is judged what needs no other vendor. ``against`` is
    all that speaks against the vendor, worst first; the facets hold the strongest of each.
    """

    label: str
    status: Status
    facets: tuple[Facet, ...]
    is_reference: bool = False
    against: tuple[Facet, ...] = ()

    @property
    def reason(self) -> str:
        """The reason of the first facet that has the status of the whole, else of the first facet."""
        return next((each.reason for each in self.facets if each.status == self.status), self.facets[0].reason)

    def facet(self, name: FacetName) -> Facet:
        return self.facets[FACETS.index(name)]


class Choice(msgspec.Struct, frozen=True):
    """The advice on the vendors of one model, from which the first line of every report is said.

    ``labels`` are the vendors that it names: the one to take, those that cannot be told apart, the only one there
    is, or none. ``of`` is the
    number of vendors beside the baseline, ``counts`` how many of them have each status. ``cheapest`` (per valid call)
    and ``fastest`` (first token) part a tie where they are known. ``by`` is the metric the vendors are ranked by:
    ``irf``, or in a run with evaluations only ``score``. ``unseen_loss`` is the greatest of those it names as sold.
    """

    kind: ChoiceKind
    labels: tuple[str, ...] = ()
    of: int = 0
    counts: Mapping[Status, int] = {}
    by: RankedBy = "irf"
    cheapest: str | None = None
    cheapest_usd: float | None = None
    fastest: str | None = None
    unseen_loss: float | None = None


class Advice(msgspec.Struct, frozen=True):
    """The advice to a buyer on one model: the verdict on every vendor by label, and the choice between them."""

    vendors: Mapping[str, VendorVerdict]
    choice: Choice
