"""By flag, command lines that show what comes of it: with the flag, and the same without it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from commands_seen import Seen, told

Look = Callable[[Seen], Any]


@dataclass(frozen=True)
class Shown:
    """A command line with the flag and the same without it, and where to look for the difference."""

    words: tuple[str, ...]
    beside: tuple[str, ...] = ()
    look: Look = lambda seen: (seen.code, seen.out, _without_notes(seen.err))


PLAN_OF_TWO = ("plan", "-n", "4", "--config-file-path", "two.yaml")


def dry(*words: str, beside: Sequence[str] = ()) -> Shown:
    """It shows in a dry run (or refuses it)."""
    return Shown(words, ("--dry-run", *beside))


def real(look: Look, *words: str, beside: Sequence[str] = ()) -> Shown:
    """It shows in a run over two samples of a simulated vendor."""
    return Shown(words, (*REAL, *beside), look)


def _without_notes(text: str) -> str:
    """Without the lines that only name what a plan shows nothing of."""
    return "".join(line for line in text.splitlines(keepends=True) if not line.startswith("note: "))


def written_names(seen: Seen) -> set[str]:
    """The names of what was written."""
    return set(seen.files)


def written_texts(seen: Seen) -> dict[str, str]:
    """What was written."""
    return seen.files


IMPORT = ("import", "b=results.jsonl", "--model", "m", "-o", "OUT")
REAL = ("-n", "2", "-o", "OUT")
# One run shows many flags, each at a place of its own.
TOGETHER: dict[str, tuple[tuple[str, ...], Look]] = {
    "--connect-timeout": (("7",), told("settings.limits.connect_s")),
    "--first-token-timeout": (("9",), told("settings.limits.first_token_s")),
    "--idle-timeout": (("8",), told("settings.limits.idle_s")),
    "--timeout": (("33",), told("settings.limits.total_s")),
    "--retries": (("1",), told("settings.retry.retries")),
    "--max-requests": (("100",), told("settings.max_requests")),
    "--max-cost": (("5",), told("settings.max_cost_usd")),
    "--vendor-concurrency": (("1",), told("settings.vendor_concurrency")),
    "--request-concurrency": (("3",), told("settings.request_concurrency")),
    "--seed": (("4",), told("settings.seed")),
    "--transport": (("httpx2",), told("settings.transport")),
    "--client": (("sdk",), told("settings.client")),
    "--no-calibration": ((), told("calibration.reason")),
    "--temperature": (("0.5",), told("entries.0.parameters.temperature")),
    "--max-tokens": (("77",), told("entries.0.parameters.max_tokens")),
    "--extra-body": (('{"max_completion_tokens": 50}',), told("entries.0.extra_body")),
    "--repeat": (("4",), lambda seen: len(seen.files["records.jsonl"].splitlines())),
    "--baseline-repeats": (("3",), told("entries.0.repeat")),
    "--undecided": (("exclude",), told("score.undecided")),
    "--schema": (("strict",), told("score.schema_policy")),
    "--gate": (("success_rate >= 0.1",), lambda seen: "success_rate >= 0.1" in seen.files["report.md"]),
    "--slo": (("e2e_ms <= 90000",), told("score.slos")),
    "--baseline-f1": (("self",), told("score.baseline_f1")),
    "--monthly-requests": (("9",), told("score.monthly_requests")),
    "--redact-content": ((), told("redacted")),
    "--json": ((), lambda seen: seen.out.startswith("{")),
    "--quiet": ((), lambda seen: "records and scores" in seen.err),
    "--history": (("OUT/history.sqlite",), lambda seen: "history.sqlite" in seen.files),
}  # fmt: skip
# Flags of a run that show alone, by what they are typed with.
ALONE: dict[str, Shown] = {
    "--test-file-path": dry("--test-file-path", "rows.jsonl"),
    "--config-file-path": dry("--config-file-path", "two.yaml"),
    "--env-file": dry("--env-file", "no such file"),
    "--model": dry("--model", "simulated-model", beside=("--config-file-path", "two.yaml")),
    "--vendor": dry("--vendor", "b", beside=("--config-file-path", "two.yaml")),
    "--suite": dry("--suite", "toolbench"),
    "--suite-option": dry("--suite-option", "trigger.sample_size=3"),
    "--answer-format": real(told("tasks.0.options"), "--answer-format", "text", beside=("--suite", "toolbench")),
    "--compare-parameters": real(
        told("tasks.0.options"), "--compare-parameters", beside=("--suite", "tool_correctness")
    ),
    "--bfcl-data": dry("--bfcl-data", "no such folder", beside=("--suite", "bfcl")),
    "--bfcl-category": dry("--bfcl-category", "simple", beside=("--suite", "bfcl")),
    "--bfcl-version": real(
        lambda seen: seen.files["bfcl/a.json"], "--bfcl-version", "v4", beside=("--bfcl-category", "simple")
    ),
    "--limit-per-category": dry("--limit-per-category", "1", beside=("--suite", "bfcl")),
    "--dataset-format": dry("--dataset-format", "openbmb", beside=("--test-file-path", "rows.jsonl")),
    "--limit": dry("--limit", "5"),
    "--head": dry("--head", beside=("-n", "5")),
    "--sample-ids": dry("--sample-ids", "885230638322f857-1"),
    "--filter-difficulty": dry("--filter-difficulty", "hard"),
    "--filter-category": dry("--filter-category", "arrays"),
    "--filter-tags": dry("--filter-tags", "calendar"),
    "--stratify-by": real(told("identity.samples"), "--stratify-by", "language"),
    "--skip-bad-samples": dry("--skip-bad-samples", beside=("--test-file-path", "bad.jsonl")),
    "--vendor-path": dry("--vendor-path", "no such folder"),
    "--incremental": Shown(("--incremental",), ("-n", "2", "-o", "begun")),
    "--dry-run": Shown(("--dry-run",), ("-n", "2", "-o", "OUT"), written_names),
    "--request-rate": dry("--request-rate", "3"),
    "--arrival": dry("--arrival", "poisson", beside=("--request-rate", "3", "--duration", "9")),
    "--replay-schedule": dry("--replay-schedule", "times.csv"),
    "--ramp-up": dry("--ramp-up", "4", beside=("--request-rate", "3", "--duration", "9")),
    "--warmup": dry("--warmup", "2"),
    "--cooldown": dry("--cooldown", "2"),
    "--duration": dry("--duration", "2"),
    "--workers": dry("--workers", "0"),
    "--executor": dry("--executor", "dask"),
    "--dask-scheduler": dry("--dask-scheduler", "tcp://192.0.2.1:8786", beside=("--executor", "dask")),
    "--dask-local": dry("--dask-local", "1", beside=("--executor", "dask")),
    "--dask-hang-after": dry("--dask-hang-after", "9"),
    "--insecure-cluster": dry(
        "--insecure-cluster",
        beside=("--executor", "dask", "--dask-scheduler", "tcp://192.0.2.1:8786", "--config-file-path", "http.yaml"),
    ),
    "--use-raw-completions": dry("--use-raw-completions"),
    "--tokenizer-model": dry("--tokenizer-model", "nowhere"),
    "--rank-metric": real(told("score.rank_metrics"), "--rank-metric", "toolbench", beside=("--suite", "toolbench")),
    "--monthly-tokens": real(told("score.monthly_tokens"), "--monthly-tokens", "9"),
    "--output-dir": Shown(("--output-dir", "OUT"), ("-n", "2"), written_names),
    "--verbose": Shown(("--verbose",), ("-n", "1", "--retries", "0", "-o", "OUT", "--config-file-path", "down.yaml")),
    "--compress": real(written_names, "--compress"),
    "--records-file-mb": real(written_names, "--records-file-mb", "0.001"),
    "--no-history": dry("--no-history", beside=("--history", "h.sqlite")),
}  # fmt: skip
RUN = ("run", "OUT")
MIGRATE = ("migrate", "literal.yaml", "--dry-run")
OTHERS: dict[str, dict[str, Shown]] = {
    "demo": {
        **{flag: Shown((flag, *words), ("demo", *REAL), look)
           for flag, (words, look) in TOGETHER.items() if flag in ("--seed", "--json", "--quiet")},
        "--limit": Shown(("--limit", "1"), ("demo", "-o", "OUT", "--suite", "toolbench"), told("tasks.0.count")),
        "--head": Shown(("--head",), ("demo", "-n", "4", "-o", "OUT"), told("identity.samples")),
        "--suite": Shown(("--suite", "toolbench"), ("demo", *REAL), told("tasks.0.suite")),
        "--suite-option": Shown(("--suite-option", "trigger.sample_size=1"), ("demo", *REAL), told("tasks.0.count")),
        "--output-dir": Shown(("--output-dir", "OUT"), ("demo", "-n", "1"), written_names),
    },
    "score": {
        "RUN": Shown(("begun",), ("score",)),
        "--suite-option": Shown(("--suite-option", "trigger.mode=compat"), ("score", "begun")),
        "--answer-format": Shown(("--answer-format", "native"), ("score", "begun")),
        "--compare-parameters": Shown(("--compare-parameters",), ("score", "begun")),
        "--bfcl-version": Shown(("--bfcl-version", "v4"), ("score", "begun")),
        "--undecided": Shown(("--undecided", "nonsense"), ("score", "begun", "--json")),
        "--schema": Shown(("--schema", "strict"), ("score", "begun", "--json")),
        "--rank-metric": Shown(("--rank-metric", "nothing"), ("score", "begun")),
        "--gate": Shown(("--gate", "avg_tokens <= 1"), ("score", "begun")),
        "--slo": Shown(("--slo", "e2e_ms <= 1"), ("score", "begun", "--json")),
        "--baseline-f1": Shown(("--baseline-f1", "self"), ("score", "begun", "--json")),
        "--monthly-requests": Shown(("--monthly-requests", "0"), ("score", "begun")),
        "--monthly-tokens": Shown(("--monthly-tokens", "0"), ("score", "begun")),
        "--json": Shown(("--json",), ("score", "begun")),
        "--history": Shown(("--history", "OUT/h.sqlite"), ("score", "begun"), written_names),
        "--no-history": Shown(("--no-history",), ("score", "begun", "--history", "h.sqlite")),
    },
    "report": {
        "RUN": Shown(("begun",), ("report",)),
        "FURTHER": Shown(("begun",), ("report", "begun")),
        "--format": Shown(("--format", "csv"), ("report", "begun")),
        "--output-dir": Shown(("--output-dir", "OUT"), ("report", "begun", "--format", "md"), written_names),
        "--gate": Shown(("--gate", "avg_tokens <= 2"), ("report", "begun")),
        "--monthly-requests": Shown(("--monthly-requests", "8"), ("report", "priced", "--format", "md")),
        "--monthly-tokens": Shown(("--monthly-tokens", "8"), ("report", "priced", "--format", "md")),
    },
    "open": {
        "RUN": Shown(("begun",), ("open", "--print")),
        "--print": Shown(("--print",), ("open", "begun")),
    },
    "export": {
        "RUN": Shown(("begun",), ("export",)),
        "--format": Shown(("--format", "jsonl"), ("export", "begun")),
        "--table": Shown(("--table", "calls"), ("export", "begun")),
        "--wide": Shown(("--wide",), ("export", "begun", "-o", "OUT"), written_texts),
        "--output": Shown(("-o", "OUT"), ("export", "begun"), written_names),
    },
    "explain": {
        "RUN": Shown(("begun",), ("explain", "--vendor", "a")),
        "--vendor": Shown(("--vendor", "nobody"), ("explain", "begun", "--vendor", "a")),
        "--sample": Shown(("--sample", "SAMPLE"), ("explain", "begun", "--vendor", "a")),
        "--model": Shown(("--model", "other"), ("explain", "begun", "--vendor", "a")),
        "--suite": Shown(("--suite", "bfcl"), ("explain", "begun", "--vendor", "a")),
        "--repetition": Shown(("--repetition", "1"), ("explain", "begun", "--vendor", "a", "--sample", "SAMPLE")),
        "--limit": Shown(("--limit", "1"), ("explain", "failed", "--vendor", "a")),
        "--full": Shown(("--full",), ("explain", "long", "--vendor", "a", "--sample", "LONG")),
        "--json": Shown(("--json",), ("explain", "begun", "--vendor", "a")),
    },
    "bundle": {
        "RUN": Shown(("begun",), ("bundle",)),
        "--output": Shown(("--output", "x.tar.gz"), ("bundle", "begun")),
        "--verify": Shown(("--verify", "begun.tar.gz"), ("bundle",)),
    },
    "merge": {
        "RUNS": Shown(("dusk",), ("merge", "dawn", "-o", "OUT")),
        "--output": Shown(("--output", "OUT"), ("merge", "dawn", "dusk"), written_names),
        "--compress": Shown(("--compress",), ("merge", "dawn", "dusk", "-o", "OUT"), written_names),
        "--records-file-mb": Shown(
            ("--records-file-mb", "0.001"), ("merge", "dawn", "dusk", "-o", "OUT"), written_names
        ),
    },
    "import": {
        "RESULTS": Shown(("b=results.jsonl",), ("import", "--model", "m", "-o", "OUT")),
        "--baseline": Shown(("--baseline", "a=results.jsonl"), IMPORT),
        "--model": Shown(("--model", "n"), ("import", "b=results.jsonl", "-o", "OUT", "--model", "m")),
        "--output-dir": Shown(("-o", "OUT"), ("import", "b=results.jsonl", "--model", "m"), written_names),
        "--test-file-path": Shown(("--test-file-path", "no such file"), IMPORT),
        "--skip-bad-rows": Shown(("--skip-bad-rows",), ("import", "b=bad_results.jsonl", "--model", "m", "-o", "OUT")),
        **{flag: Shown((flag, *words), IMPORT, look)
           for flag, (words, look) in TOGETHER.items()
           if flag in ("--undecided", "--schema", "--gate", "--slo", "--json", "--history")},
        "--no-history": Shown(("--no-history",), (*IMPORT, "--history", "h")),
    },
    "compare": {
        "BEFORE": Shown(("begun",), ("compare",)),
        "AFTER": Shown(("begun",), ("compare", "begun")),
        "--fail-on": Shown(("--fail-on", "nothing"), ("compare", "begun", "begun")),
        "--history": Shown(("--history", "empty.sqlite"), ("compare", "begun")),
        "--json": Shown(("--json",), ("compare", "begun", "begun")),
    },
    "history": {
        "--model": Shown(("--model", "other"), ("history", "--history", "h.sqlite")),
        "--vendor": Shown(("--vendor", "other"), ("history", "--history", "h.sqlite")),
        "--limit": Shown(("--limit", "1"), ("history", "--history", "h.sqlite")),
        "--history": Shown(("--history", "empty.sqlite"), ("history",)),
        "--json": Shown(("--json",), ("history", "--history", "h.sqlite")),
    },
    "trend": {
        "--vendor": Shown(("--vendor", "other"), ("trend", "--history", "h.sqlite")),
        "--model": Shown(("--model", "other"), ("trend", "--history", "h.sqlite")),
        "--metric": Shown(("--metric", "e2e_ms.p95"), ("trend", "--history", "h.sqlite")),
        "--history": Shown(("--history", "h.sqlite"), ("trend", "--history", "empty.sqlite")),
        "--exit-code": Shown(("--exit-code",), ("trend", "--history", "worse.sqlite")),
        "--output": Shown(("--output", "OUT/t.html"), ("trend", "--history", "h.sqlite"), written_names),
        "--json": Shown(("--json",), ("trend", "--history", "h.sqlite")),
    },
    "init": {
        "FOLDER": Shown(("OUT/here",), ("init",), written_names),
        "--model": Shown(("--model", "kimi-k2.5"), ("init", "OUT"), written_texts),
        "--vendor": Shown(("--vendor", "moonshot"), ("init", "OUT", "--model", "kimi-k2.5"), written_texts),
    },
    "migrate": {
        "CONFIG": Shown(("two.yaml",), ("migrate",)),
        "--env-file": Shown(("--env-file", "OUT/keys"), MIGRATE),
        "--data": Shown(("--data", "old"), MIGRATE),
        "--output-dir": Shown(("--output-dir", "OUT"), ("migrate", "config.yaml", "--data", "old"), written_names),
        "--dry-run": Shown(("--dry-run",), ("migrate", "config.yaml")),
    },
    "completion": {"SHELL": Shown(("bash",), ("completion",))},
    "convert": {
        "SOURCE": Shown(("calls.jsonl", "OUT/x.jsonl"), ("convert",)),
        "TARGET": Shown(("OUT/x.jsonl",), ("convert", "calls.jsonl")),
        "--dataset-format": Shown(("--dataset-format", "openbmb"), ("convert", "calls.jsonl", "OUT/x.jsonl")),
        "--skip-bad-rows": Shown(("--skip-bad-rows",), ("convert", "bad_calls.jsonl", "OUT/x.jsonl")),
        "--force": Shown(("--force",), ("convert", "calls.jsonl", "rows.jsonl")),
    },
    "doctor": {
        "--config-file-path": Shown(("--config-file-path", "two.yaml"), ("doctor",)),
        "--env-file": Shown(("--env-file", "no such file"), ("doctor",)),
        "--model": Shown(("--model", "other"), ("doctor",)),
        "--vendor": Shown(("--vendor", "other"), ("doctor",)),
        "--vendor-path": Shown(("--vendor-path", "no such folder"), ("doctor",)),
        "--tokenizer-model": Shown(("--tokenizer-model", "x"), ("doctor",)),
        "--verbose": Shown(("--verbose",), ("doctor",)),
        "--json": Shown(("--json",), ("doctor",)),
    },
    "vendors": {
        "--vendor-path": Shown(("--vendor-path", "no such folder"), ("vendors",)),
        "--json": Shown(("--json",), ("vendors",)),
    },
    "models": {"--json": Shown(("--json",), ("models",))},
    "bfcl": {
        "--job": Shown(("--job", "job.json"), ("bfcl", "--dry-run")),
        "--infer-tools": Shown(("--infer-tools",), ("bfcl", "--dry-run", "--job", "open.json")),
        "--tools": Shown(("--tools", "tools.json"), ("bfcl", "--dry-run", "--job", "custom.json")),
    },
    "plan": {
        "--answer-tokens": Shown(("--answer-tokens", "9"), ("plan", "-n", "4")),
        "--answer-seconds": Shown(("--answer-seconds", "90"), ("plan", "-n", "4"), lambda seen: seen.raw),
        "--ceiling": Shown(("--ceiling", "0.5"), PLAN_OF_TWO, lambda seen: seen.raw),
        "--prevalence": Shown(("--prevalence", "0.1"), PLAN_OF_TWO, lambda seen: seen.raw),
        "--drop": Shown(("--drop", "0.5"), PLAN_OF_TWO, lambda seen: seen.raw),
    },
    "check": {
        "--fail-on": Shown(("--fail-on", "nothing"), ("check", *REAL)),
        "--keep": Shown(("--keep", "forever"), ("check", *REAL)),
        "--webhook-env": Shown(("--webhook-env", "NOT_SET"), ("check", *REAL)),
        "--notify": Shown(("--notify", "always"), ("check", *REAL)),
    },
}  # fmt: skip
CAPACITY: dict[str, tuple[str, ...]] = {
    "--test-file-path": ("no such file",), "--config-file-path": ("two.yaml",), "--env-file": ("no such file",),
    "--model": ("other",), "--vendor": ("other",), "--vendor-path": ("no such folder",), "--limit": ("3",),
    "--head": (),
    "--seed": ("4",), "--by": ("rate",), "--arrival": ("poisson",), "--up-to": ("8",), "--step": ("0.5",),
    "--sweep": ("2,4",),
    "--max-requests": ("900",), "--max-cost": ("3",), "--max-seconds": ("60",), "--timeout": ("33",),
    "--first-token-timeout": ("9",), "--transport": ("httpx2",), "--workers": ("2",),
    "--executor": ("dask", "--dask-local", "1"), "--dask-scheduler": ("tcp://127.0.0.1:1", "--executor", "dask"),
    "--dask-local": ("2", "--executor", "dask"), "--dask-hang-after": ("9", "--workers", "2"),
    "--insecure-cluster": ("--executor", "dask", "--dask-local", "1"),
    "--temperature": ("0.5",), "--max-tokens": ("77",),
    "--slo": ("f1 >= 0.1",), "--at-least": ("2",), "--output-dir": ("OUT",),
}  # fmt: skip
