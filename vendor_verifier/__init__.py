"""Verify that the vendors of an LLM really serve the model they sell.

``verify``, ``averify``, ``score_run``, ``load_run``, ``load_history``, ``compare_runs``,
``evaluate`` and ``irf`` are the Python interface, described in docs/data.md. They are imported when first used,
so that importing the package costs nothing; ``__init__.pyi`` has their types.
"""

from __future__ import annotations

__version__ = "0.2.0"

_HOMES = {
    "verify": "vendor_verifier.api",
    "averify": "vendor_verifier.api",
    "score_run": "vendor_verifier.api",
    "compare_runs": "vendor_verifier.api",
    "load_history": "vendor_verifier.api",
    "load_run": "vendor_verifier.features.data.run_data",
    "RunData": "vendor_verifier.features.data.run_data",
    "evaluate": "vendor_verifier.api",
    "EvalTestCase": "vendor_verifier.suites.tool_correctness",
    "ToolCorrectnessMetric": "vendor_verifier.suites.tool_correctness",
    "irf": "vendor_verifier.scoring.metrics",
    "RunOutcome": "vendor_verifier.pipeline.run",
    "Report": "vendor_verifier.records.results",
    "Record": "vendor_verifier.records.record",
    "RunComparison": "vendor_verifier.features.history.compare",
    "VerifierError": "vendor_verifier.errors",
}
__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from importlib import import_module

    return getattr(import_module(home), name)


def __dir__() -> list[str]:
    return sorted(__all__)
