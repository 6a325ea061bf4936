"""Runs beside each other and in the history, from the command line, on simulated vendors."""

from __future__ import annotations

import json
import random
import shutil
from typing import Any

import pytest

from vendor_verifier.features.history.database import default_history_file, read_runs


@pytest.mark.slow
def test_two_runs_are_compared_with_verdicts_changes_and_flips(bench: Any) -> None:
    """The vendor behind a label becomes a bad one: worse, exit 1, its flipped samples and its new address are named."""
    bench.samples(150)
    bench.configure("official: faithful", "twin: faithful")
    bench.run(output="before")
    bench.configure("official: faithful", "twin: substitute")
    bench.run(output="after")
    code, out, _ = bench("compare", "before", "after")
    assert code == 1
    assert "worse" in out.splitlines()[0]
    assert "entries.simulated-model / twin.url: sim://faithful → sim://substitute" in out
    assert "only `history --metric` shows" in out
    changed = [line for line in out.splitlines() if line.startswith("identity: simulated-model / twin: ")]
    assert [line.split(": ")[2].split(" were ")[0] for line in changed] == ["served models"]
    assert "are simulated-mini-8b in this one" in changed[0]
    listed = bench("history")[1]
    assert "    simulated-model / twin: served models were simulated-model in the earlier run" in listed
    code, out, _ = bench("compare", "before", "before")
    assert code == 0
    assert "nothing of the question changed" in out
    assert "of 150 samples in both runs none ended otherwise" in out
    code, out, _ = bench("compare", "before", "after", "--fail-on", "success", "--json")
    assert code == 0
    found = json.loads(out)
    assert found["common_samples"] == 150
    assert {change["verdict"] for change in found["changes"]} >= {"worse"}


def _with_times(bench: Any, output: str, slower: str | None = None) -> None:
    """A copy of the stored run in which every first token has a made-up time, of one vendor 73.5 % more.

    Every vendor is sent its samples in one order, one a minute: what a busy machine made of the order decides
    nothing.
    """
    shutil.copytree(bench.folder / "run", bench.folder / output)
    dice = random.Random(output)
    records = [json.loads(line) for line in (bench.folder / "run" / "records.jsonl").read_text().splitlines()]
    records.sort(key=lambda record: (record["label"], record["sample"], record["repetition"]))
    minutes = {sample: minute for minute, sample in enumerate(sorted({record["sample"] for record in records}))}
    lines = []
    for record in records:
        timing = record["turns"][-1]["attempts"][-1]["timing"]
        times = 1.735 if record["label"] == slower else 1.0
        first_ns = int(8e8 * times * dice.lognormvariate(0, 0.2))
        spread = {"first_token_ns": first_ns, "first_answer_ns": first_ns, "last_token_ns": first_ns, "gaps_ns": []}
        sent_at = f"2026-01-01T00:{minutes[record['sample']]:02}:00+00:00"
        timing.update(spread, end_ns=first_ns, our_lateness_ns=0, sent_at=sent_at)
        lines.append(json.dumps(record) + "\n")
    (bench.folder / output / "records.jsonl").write_text("".join(lines))


@pytest.mark.slow
@pytest.mark.parametrize("many", [2, 3, 4, 7])
def test_one_vendor_that_got_slower_is_named_alone_and_none_is_none(bench: Any, many: int) -> None:
    """Exit 1 with one vendor worse and no other changed; exit 0 where nobody changed, however many take part."""
    labels = ["official", "twin", *(f"other-{number}" for number in range(many - 2))]
    bench.configure(*(f"{label}: faithful" for label in labels))
    bench.samples(60)
    bench.run()
    for output, slower in (("before", None), ("quiet", None), ("after", "twin")):
        _with_times(bench, output, slower)
    code, out, _ = bench("compare", "before", "quiet", "--json", "--fail-on", "ttft")
    assert code == 0
    code, out, _ = bench("compare", "before", "after", "--json", "--fail-on", "ttft")
    changes = [change for change in json.loads(out)["changes"] if change["metric"] == "avg_ttft_ms"]
    assert len(changes) == many
    changed = {change["label"]: change["verdict"] for change in changes if change["verdict"] in ("worse", "improved")}
    assert (code, changed) == (1, {"twin": "worse"})


def test_runs_with_other_choices_of_samples_are_compared_over_those_of_both(bench: Any) -> None:
    """The other choice stands among what changed; what is compared, and over how many, is said in the same words."""
    bench.configure("official: faithful", "twin: faithful")
    path = bench.samples(12)
    lines = path.read_text().splitlines(keepends=True)
    for output, chosen in (("eight", lines[:8]), ("others", lines[4:]), ("one", lines[7:])):
        path.write_text("".join(chosen))
        bench.run("--baseline-repeats", "1", output=output)
    code, out, _ = bench("compare", "eight", "others", "--fail-on", "success")
    assert code == 0
    assert " over 4 samples: " in out.splitlines()[0]
    assert "note: only what both runs asked is compared: 4 samples, of 8 before and 8 after" in out
    assert "  tasks.trigger.samples: 8, of which 4 in both runs → 8, of which 4 in both runs" in out
    assert "of 4 samples in both runs none ended otherwise" in out
    assert "simulated-model / twin / success_rate: 1 → 1, +0.0 points (-75.0 points … +75.0 points, n 4)" in out
    code, out, err = bench("compare", "eight", "one")
    assert code == 2
    assert "compared: 1 sample, of 8 before and 5 after" in out
    assert "one sample shows no change" in out
    assert "no vendor measured two samples in both runs" in err


def test_runs_without_a_common_sample_say_so(bench: Any) -> None:
    """Different questions are not compared at all, and a gate over nothing does not pass."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(4)
    bench.run(output="one")
    path = bench.folder / "samples.jsonl"
    path.write_text(path.read_text().replace("look up record", "fetch record"))
    bench.run(output="other")
    code, out, err = bench("compare", "one", "other", "--fail-on", "f1")
    assert code == 2
    assert "no sample in common" in out
    assert "nothing could get worse" in err


@pytest.mark.parametrize("arguments", [["compare", "nowhere", "nowhere"], ["compare", "nowhere"]])
def test_what_is_no_run_is_refused(bench: Any, arguments: list[str]) -> None:
    """Exit code 2 and the name of what was read."""
    code, _, err = bench(*arguments)
    assert code == 2
    assert "nowhere is not a run folder" in err


def test_every_scored_run_is_in_the_history_once(bench: Any) -> None:
    """run, score (which replaces), import; --no-history and demo leave it alone; history shows it."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(4)
    file = bench.folder / "h.sqlite"
    bench.run("--history", file)
    assert len(read_runs(file)) == 1
    bench("score", "run", "--history", file, "--undecided", "exclude")
    (stored,) = read_runs(file)
    bench.run("--no-history", output="hidden")
    bench("demo", "-n", "1", "--quiet", "-o", "demo")
    assert len(read_runs(file)) == 1
    assert [run.run for run in read_runs(default_history_file()) if str(bench.folder) in run.folder] == []
    _, out, _ = bench("history", "--history", file)
    assert stored.run in out
    _, out, _ = bench("history", "--history", file, "--json", "--vendor", "twin")
    assert json.loads(out)[0]["entries"][0]["figures"]["ttft_ms.p50"][0] > 0
    code, out, _ = bench("history", "--history", file, "--vendor", "twin", "--metric", "ttft")
    assert code == 0
    assert "1 of the 8 comparable runs" in out
    assert "simulated-model / twin / ttft_ms.p50, 1 of 1 run" in out
    code, _, err = bench("history", "--history", file, "--metric", "tfft")
    assert code == 2
    assert "no such figure" in err
    for flag, wrong, known in (("--vendor", "twinn", "`twin`"), ("--model", "nope", "`simulated-model`")):
        code, out, err = bench("history", "--history", file, flag, wrong)
        assert (code, out, known in err) == (2, "", True)
        code, _, err = bench("history", "--history", file, flag, wrong, "--metric", "ttft")
        assert (code, f"{flag}: no run of the history has `{wrong}`" in err, known in err) == (2, True, True)


def test_a_run_against_its_history_needs_to_be_in_it(bench: Any) -> None:
    """With one run, compare judges by the history up to it; a run that was left out says how to add it."""
    bench.configure("official: faithful", "twin: faithful")
    bench.samples(4)
    file = bench.folder / "h.sqlite"
    bench.run("--history", file)
    code, out, _ = bench("compare", "run", "--history", file)
    assert code == 0
    assert "no verdict yet" in out
    bench.run("--no-history", output="hidden")
    code, _, err = bench("compare", "hidden", "--history", file)
    assert code == 2
    assert "`score RUN` adds it" in err
