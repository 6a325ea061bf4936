"""A run that cannot be gone on with says what differs, so that nobody searches two configurations for it."""

from __future__ import annotations

import json
from typing import Any

import pytest


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"label": "other"}, ["simulated-model / bad is gone", "simulated-model / other is new"]),
        ({"model_id": "m-2"}, ["simulated-model / bad: model_id was simulated-model, is m-2"]),
        ({"extra_body": {"top_k": 1}}, ["simulated-model / bad: extra_body"]),
    ],
)
def test_the_entry_that_differs_is_named_with_both_values(bench: Any, change: dict[str, Any], words: list[str]) -> None:
    """Of bodies only that they differ, because they may be long."""
    bench.samples(1)
    file = bench.configure("official: faithful", "bad: quantised")
    bench.run()
    text = file.read_text()
    head, mark, last = text.rpartition("    - name: simulated\n      label: bad\n")
    if "label" in change:
        mark = mark.replace("bad", change["label"])
    elif "model_id" in change:
        last = last.replace("model_id: simulated-model", f"model_id: {change['model_id']}")
    else:
        last += f"      extra_body: {json.dumps(change['extra_body'])}\n"
    file.write_text(head + mark + last)
    code, _, err = bench(
        "--incremental", "-o", bench.folder / "run", "--test-file-path", bench.folder / "samples.jsonl"
    )
    assert code == 2
    assert "was made with other entries (" in err
    for each in words:
        assert each in err


def test_another_number_of_repetitions_is_told(bench: Any) -> None:
    """With both numbers."""
    bench.samples(1)
    bench.configure("official: faithful", "bad: quantised")
    bench.run()
    common = ("--incremental", "-o", bench.folder / "run", "--test-file-path", bench.folder / "samples.jsonl")
    code, _, err = bench(*common, "--repeat", "3")
    assert (code, "repeat was 1, is 3" in err) == (2, True)
