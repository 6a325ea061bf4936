"""The evaluations on offer, an explicit list; a suite is in it or it does not run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from vendor_verifier.suites.base import Suite
from vendor_verifier.suites.bfcl.options import BfclOptions, bfcl_suite
from vendor_verifier.suites.contract.suite import ContractSuite, contract_samples
from vendor_verifier.suites.mcp_toolbench import MCPToolBenchSuite
from vendor_verifier.suites.tool_correctness import ToolCorrectnessSuite
from vendor_verifier.suites.toolbench import ToolBenchSuite
from vendor_verifier.suites.trigger import TriggerSuite
from vendor_verifier.values.sample import Sample


@dataclass(frozen=True, slots=True)
class SuiteKind:
    """One evaluation: its name, what builds it (keyword options), the samples that ship with it, and its main value.

    ``main`` is the key of ``Score.values`` whose mean joins the ranking table under the suite's name; ``None`` for the
    suite whose result is a comparison (F1) and not a mean. ``dataset`` is a shipped file, or the samples themselves
    where they are built in; ``None`` where the options say what is read. ``apart``: see
    :class:`vendor_verifier.values.score.PlayedTask`. With ``options``, a dataclass, ``build`` takes one of these.
    """

    name: str
    build: Callable[..., Suite]
    dataset: str | Callable[[], tuple[Sample, ...]] | None
    main: str | None = None
    apart: bool = False
    options: type[Any] | None = None


SUITES: tuple[SuiteKind, ...] = (
    SuiteKind("trigger", TriggerSuite, "datasets/samples.jsonl"),
    SuiteKind("toolbench", ToolBenchSuite, "datasets/toolbench.jsonl", "resolved"),
    SuiteKind("mcptoolbench", MCPToolBenchSuite, "datasets/mcp_toolbench.jsonl", "resolved"),
    SuiteKind("tool_correctness", ToolCorrectnessSuite, "datasets/tool_correctness.jsonl", "score"),
    SuiteKind("bfcl", bfcl_suite, None, "correct", options=BfclOptions),
    SuiteKind("contract", ContractSuite, contract_samples, "kept", apart=True),
)


def suite_kind(name: str) -> SuiteKind | None:
    """The suite of that name, or None."""
    return next((kind for kind in SUITES if kind.name == name), None)
