"""The evaluations on offer, an explicit list; a suite is in it or it does not run.

Their builders are named and not imported: together they are some fifty modules, of which a run needs a few.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from vendor_verifier.lazy_import import late
from vendor_verifier.suites.base import Suite
from vendor_verifier.values.sample import Sample


@dataclass(frozen=True, slots=True)
class SuiteKind:
    """One evaluation: its name, its builder (keyword options), the samples that ship with it, and its main value.

    ``builder``, ``option_class`` and built-in samples are named as ``module:name`` in this package. ``ranks_by`` is the
    key of ``Score.values`` whose mean joins the ranking table under the suite's name; ``None`` for the suite whose
    result is a comparison (F1) and not a mean. ``samples`` is a shipped file, or the samples themselves where they are
    built in; ``None`` where the options say what is read. ``apart``: see
    :class:`vendor_verifier.values.score.PlayedTask`. With ``option_class``, a dataclass, the builder takes one of
    these. ``hooks`` names the class of what it does around a run beside asking and judging
    (:class:`vendor_verifier.pipeline.suites.SuiteHooks`), where it does anything. ``flags`` are those that state an
    option of this evaluation alone, by option; given without ``--suite`` they ask for it.
    """

    name: str
    builder: str
    samples: str | None
    ranks_by: str | None = None
    apart: bool = False
    option_class: str | None = None
    hooks: str | None = None
    flags: Mapping[str, str] = field(default_factory=dict)

    @property
    def compares(self) -> bool:
        """Whether its result is a comparison of decisions with the baseline's."""
        return self.ranks_by is None and not self.apart

    @property
    def build(self) -> Callable[..., Suite]:
        """The function or class that builds the suite from its options."""
        built: Callable[..., Suite] = _named(self.builder)
        return built

    @property
    def dataset(self) -> str | Callable[[], tuple[Sample, ...]] | None:
        """The shipped file, or the function that gives the built-in samples."""
        return _named(self.samples) if self.samples is not None and ":" in self.samples else self.samples

    @property
    def options(self) -> type[Any] | None:
        """The dataclass of the options, where that is not the suite itself."""
        return None if self.option_class is None else _named(self.option_class)


def _named(place: str) -> Any:
    return late(f"vendor_verifier.suites.{place}")


SUITES: tuple[SuiteKind, ...] = (
    SuiteKind("trigger", "trigger:TriggerSuite", "datasets/samples.jsonl"),
    SuiteKind("toolbench", "toolbench:ToolBenchSuite", "datasets/toolbench.jsonl", "resolved"),
    SuiteKind("mcptoolbench", "mcp_toolbench:MCPToolBenchSuite", "datasets/mcp_toolbench.jsonl", "resolved"),
    SuiteKind("tool_correctness", "tool_correctness:ToolCorrectnessSuite", "datasets/tool_correctness.jsonl", "score"),
    SuiteKind(
        "bfcl",
        "bfcl.job_file:bfcl_suite",
        None,
        "correct",
        option_class="bfcl.job_file:BfclOptions",
        hooks="vendor_verifier.features.bfcl.hooks:BfclHooks",
        flags={
            "data": "--bfcl-data",
            "category": "--bfcl-category",
            "version": "--bfcl-version",
            "limit_per_category": "--limit-per-category",
        },
    ),
    SuiteKind("contract", "contract.suite:ContractSuite", "contract.suite:contract_samples", "kept", apart=True),
)


# The evaluation of a run that names none.
DEFAULT_SUITE = SUITES[0].name


def compares(name: str) -> bool:
    """Whether the suite of that name compares decisions with the baseline's."""
    kind = suite_kind(name)
    return kind is not None and kind.compares


def suite_kind(name: str) -> SuiteKind | None:
    """The suite of that name, or None."""
    return next((kind for kind in SUITES if kind.name == name), None)
