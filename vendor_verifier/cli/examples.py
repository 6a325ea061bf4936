"""What to type first, by command; shown below each command's help. It runs nothing."""

from __future__ import annotations

from collections.abc import Mapping

# By command, "" where none is named; what follows the name of the program. Some explain themselves.
EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "": (
        "demo",
        "--test-file-path samples.jsonl --vendor-concurrency 5",
        "--model kimi-k2.5 -n 100 -o runs/kimi",
    ),
    "run": (
        "run --test-file-path own.jsonl --vendor-concurrency 5",
        "run --model kimi-k2.5 -n 100 -o runs/kimi",
        "run --request-rate 20 --duration 60 --slo 'tps >= 30'",
    ),
    "demo": ("demo", "demo --suite mcptoolbench -n 20"),
    "bfcl": ("bfcl --job job.json",),
    "plan": ("plan --model kimi-k2.5", "plan --repeat 5 --drop 0.02"),
    "score": ("score runs/kimi --undecided exclude", "score runs/kimi --slo 'ttft_ms <= 800'"),
    "report": ("report runs/kimi --format html,junit -o out",),
    "explain": ("explain runs/kimi --vendor novita",),
    "bundle": ("bundle runs/kimi",),
    "import": ("import --baseline a=a.jsonl b=b.jsonl --model k2 -o out",),
    "capacity": (
        "capacity --vendor novita --up-to 128 --max-cost 2",
        "capacity --by rate --up-to 20 --at-least 5",
        "capacity --from runs/novita --slo 'f1 >= ceiling - 0.02'",
    ),
    "check": ("check --gate 'f1 >= 0.9'",),
    "compare": ("compare runs/monday runs/tuesday", "compare runs/tuesday"),
    "history": ("history --vendor novita",),
    "trend": ("trend --vendor novita --metric ttft", "trend -o trend.html"),
    "init": ("init --model kimi-k2.5",),
    "completion": ("completion zsh > ~/.zfunc/_agent-vendor-verifier",),
    "convert": ("convert in.jsonl out.jsonl --dataset-format openbmb",),
    "doctor": ("doctor", "doctor --model kimi-k2.5 --vendor novita"),
    "simulate": ("simulate --port 8600 --speed 4", "simulate --test-file-path own.jsonl"),
}
