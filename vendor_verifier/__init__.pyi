"""Types of the names that ``__init__.py`` imports when they are first asked for."""

from vendor_verifier.api import averify, compare_runs, evaluate, load_history, score_run, verify
from vendor_verifier.errors import VerifierError
from vendor_verifier.features.data.run_data import RunData, load_run
from vendor_verifier.features.history.compare import RunComparison
from vendor_verifier.pipeline.run import RunOutcome
from vendor_verifier.records.record import Record
from vendor_verifier.records.results import Report
from vendor_verifier.scoring.metrics import irf
from vendor_verifier.suites.tool_correctness import EvalTestCase, ToolCorrectnessMetric

__version__: str
__all__ = [
    "EvalTestCase",
    "Record",
    "Report",
    "RunComparison",
    "RunData",
    "RunOutcome",
    "ToolCorrectnessMetric",
    "VerifierError",
    "__version__",
    "averify",
    "compare_runs",
    "evaluate",
    "irf",
    "load_history",
    "load_run",
    "score_run",
    "verify",
]
