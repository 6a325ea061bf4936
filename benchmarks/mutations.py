"""Put known faults into a copy of the package, one at a time, and report which the tests find.

python benchmarks/mutations.py            every fault
python benchmarks/mutations.py 3 7        these
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]


class Fault(NamedTuple):
    """``old`` in a file of the package becomes ``new``; ``tests`` are files or folders of tests/ that should notice."""

    file: str
    old: str
    new: str
    tests: str


FAULTS = (
    Fault("scoring/metrics.py", "better + (equal + 1) / 2", "better + 1", "scoring"),
    Fault("scoring/metrics.py", "1.0 / (rank + k)", "1.0 / rank", "scoring"),
    Fault("scoring/f1.py", "UNDECIDED if missing_is_failed else NOT_SENT", "NOT_SENT", "scoring"),
    Fault("scoring/money.py", "clip(upper=took)", "clip(upper=1)", "scoring"),
    Fault("scoring/figures.py", "succeeded / asked if asked", "succeeded / len(rows) if len(rows)", "scoring"),
    Fault("run/conversation.py", "if failure is None or has_token:", "if failure is None:", "run/test_retry.py faults/test_matrix.py"),
    Fault("run/conversation.py", 'failure.status != 403 or failure.rules.name == "no_credit"', "True", "run faults/test_matrix.py"),
    Fault("run/conversation.py", "min(max(own_s, asked_s), rules.max_wait_s)", "max(own_s, asked_s)", "run"),
    Fault("run/queue.py", "if endless or repetition in self._left_at(target, place):", "if True:", "run"),
    Fault("run/limits.py", "account.failed.clear()", "pass", "run faults/test_dead_vendors.py"),
    Fault("run/limits.py", "if self._spending.is_used_up:", "if False:", "faults/test_dead_vendors.py"),
    Fault("run/limits.py", " and now - since >= seconds", "", "run faults/test_dead_vendors.py"),
    Fault("findings/speed.py", "tests.window_differences(*own_times, *base_times) is None", "False", "findings"),
    Fault("run/budgets.py", "if self.is_used_up or (", "if (", "run faults/test_dead_vendors.py"),
    Fault("records/record.py", "return new.succeeded and not old.succeeded", "return new.succeeded", "records test_store.py scoring"),
    Fault("config/entries.py", "and not address.local and not allow_http", "and not address.local", "config"),
    Fault("config/entries.py", "and not address.local and not allow_http", "and not allow_http", "config"),
    Fault("redaction.py", "isinstance(value, (bool, int, float)) or is_word", "isinstance(value, (bool, int, float, str))", "test_redaction.py"),
    Fault("wire/tool_calls.py", 'call.anomalies["id_empty"] = None', "pass", "wire oracles"),
    Fault("wire/sse.py", "if len(line) > self._max_line:", "if False:", "wire"),
    Fault("wire/errors.py", "not isinstance(code, bool) and 400 <= code <= 599", "400 <= code <= 499", "wire"),
    Fault("transport/connection.py", "if error is None and self._to_the_end:", "if self._to_the_end:", "transport faults/test_matrix.py"),
    Fault("transport/exchange.py", "if excess > 0 or len(self._chunks)", "if len(self._chunks)", "transport"),
    Fault("findings/verdict.py", "differs = p_value <= CERTAIN and test.beyond", "differs = p_value <= CERTAIN", "findings benchmarks"),
    Fault("findings/verdict.py", 'untested and (name == "bill"', 'untested and (name == "speed"', "findings"),
    Fault("findings/reliability.py", "if len(rows) < LEAST_DOWN", "if len(rows) < 6", "findings"),
    Fault("findings/base.py", 'failures[failures != "skipped"]', "failures", "findings"),
    Fault("findings/probes.py", "and (old, new) not in base_groups_of", "", "benchmarks/test_probe_rates.py findings"),
    Fault("findings/probes.py", "if rate**count > _CERTAIN:", "if False:", "benchmarks/test_probe_rates.py"),
    Fault("stats/compare.py", "np.count_nonzero(np.diff(places) > gap)", "np.count_nonzero(np.diff(places) > 0)", "stats findings"),
    Fault("stats/compare.py", "np.sort(p_values) * steps", "np.sort(p_values)", "stats findings"),
    Fault("suites/schema.py", "self.parts * written > _MAX_WORK or", "False or", "suites"),
    Fault("suites/tool_correctness.py", "if at not in found and place not in taken:", "if at not in found:", "suites oracles/test_tool_evaluators.py"),
    Fault("suites/calls.py", 'text.find("\\n```", fence.end())', 'text.find("\\n", fence.end())', "suites oracles/test_tool_evaluators.py"),
    Fault("suites/contract.py", "_LIMIT + 2", "_LIMIT + 20", "suites/test_contract.py pipeline/test_contract_run.py"),
    Fault("suites/bfcl/check_value.py", "if len(value) != len(option):", "if len(value) < len(option):", "suites/bfcl oracles/test_bfcl_checker.py"),
    Fault("suites/bfcl/check_value.py", "if folded(entry) not in _folded_items(option[key]):", "if False:", "suites/bfcl oracles/test_bfcl_checker.py"),
    Fault("suites/probes.py", '"kept" if copied == asked else', '"kept" if copied.strip() == asked.strip() else', "benchmarks/test_probe_rates.py suites"),
    Fault("features/history/trends.py", "is_change = abs(effect) >= least_effect", "is_change = True", "features/history"),
    Fault("features/history/check.py", "change.is_worse or", "", "features/history"),
    Fault("features/capacity/sweep.py", "_REACHED = 0.9", "_REACHED = 0.1", "features/test_capacity.py"),
    Fault("pipeline/manifest.py", "if old[field] != new[field])", "if False)", "pipeline/test_main_job.py"),
    Fault("pipeline/places.py", "[0-9a-f]{64}", "[0-9a-f]+", "pipeline/test_data_places.py"),
    Fault("reports/escape.py", '_FORMULA_STARTS = "=+-@', '_FORMULA_STARTS = "=+-', "reports features/test_data.py"),
    Fault("loaders/selection.py", "places = range(limit) if head else", "places = range(limit) if False else", "loaders pipeline/test_choosing.py"),
)  # fmt: skip


def is_found(fault: Fault) -> bool | None:
    """Whether the tests fail with this fault; None where its text is not in the package any more."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy"
        ignored = shutil.ignore_patterns(".git", ".venv", "runs", "__pycache__", "*_cache", "build", "dist")
        shutil.copytree(ROOT, copy, ignore=ignored, symlinks=True)
        file = copy / "vendor_verifier" / fault.file
        text = file.read_text(encoding="utf-8") if file.exists() else ""
        if fault.old not in text:
            return None
        file.write_text(text.replace(fault.old, fault.new, 1), encoding="utf-8")
        tests = [path for name in fault.tests.split() if (path := f"tests/{name}") and (copy / path).exists()]
        options = ["-q", "-x", "-n", "2", "-p", "no:cacheprovider", "-m", "not slow and not world"]
        command = [sys.executable, "-m", "pytest", *options]
        environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
        done = subprocess.run(
            [*command, *tests], cwd=copy, env=environment, capture_output=True, text=True, check=False
        )
        # Tests that cannot be collected show a fault, too.
        return "FAILED" in done.stdout or "ERROR" in done.stdout


def main() -> None:
    """Print a line for each fault, and how many were found."""
    chosen = [int(word) for word in sys.argv[1:]] or range(len(FAULTS))
    results = []
    for number in chosen:
        results.append(is_found(FAULTS[number]))
        words = {True: "found", False: "NOT FOUND", None: "no such text"}[results[-1]]
        print(f"{number:2} {words:12} {FAULTS[number].file}: {FAULTS[number].old}", flush=True)
    print(f"{results.count(True)} of {len(results)} faults found")


if __name__ == "__main__":
    main()
