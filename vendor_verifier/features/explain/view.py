"""What ``view`` shows: a run as samples × vendors, and a sample with all its answers."""

from __future__ import annotations

import hmac
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import pandas as pd

from vendor_verifier.errors import UsageError
from vendor_verifier.features.explain.evidence import QUESTION, STATES, states_of
from vendor_verifier.features.explain.sample import answer_of, judged_answers, read_answers
from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.records.manifest import Manifest
from vendor_verifier.reports.escape import visible
from vendor_verifier.reports.html import drawn, part, prompt_of
from vendor_verifier.scoring.table import read_frames
from vendor_verifier.store import RunFolder

ROWS, HOST = 50, "127.0.0.1"
_BEGINNING, _MOST_TEXT, _MOST_WORDS = 1_000, 100_000, 1_000


@dataclass(frozen=True)
class Index:
    """A run with the frame of scoring and each answer's state, beginning and prompt; ``labels``: baselines first."""

    folder: RunFolder
    manifest: Manifest
    labels: list[str]
    answers: pd.DataFrame


def index_of(path: Path) -> Index:
    """The index of a run."""
    folder, beginnings = RunFolder(path), list[tuple[str, str]]()
    manifest = folder.read_manifest()
    samples = {task.suite: folder.read_samples(task.suite) for task in manifest.tasks}
    rows = read_frames(
        folder.read_records(lambda _line, _reason: None),
        {task.suite: ready_suite(task.suite, task.options, samples[task.suite], folder) for task in manifest.tasks},
        samples,
        listener=lambda record, sample, _score: beginnings.append(
            (visible(answer_of(record), _BEGINNING), visible(prompt_of(sample), _BEGINNING))
        ),
    ).records
    shown = pd.DataFrame(beginnings, columns=["answer", "prompt"]).reindex(rows.index)
    rows = rows.assign(answer=shown["answer"], prompt=shown["prompt"].astype("category"))
    state = states_of(rows, [entry.key for entry in manifest.entries if entry.is_baseline])
    entries = sorted(manifest.entries, key=lambda entry: not entry.is_baseline)
    labels = list(dict.fromkeys(entry.label for entry in entries))
    return Index(folder, manifest, labels, rows.assign(state=state))


def grid(index: Index, wanted: Mapping[str, str]) -> dict[str, Any]:
    """``ROWS`` samples with an answer as ``wanted`` (model, suite, label, state, text; from the ``first`` on), the most
    disputed one first, and every vendor's number of answers by state."""
    rows, first, text = index.answers, max(0, int(wanted.get("first", "0"))), wanted.get("text", "")
    mask = pd.Series(True, index=rows.index)
    for column in ("model", "suite", "label", "state"):
        if wanted.get(column):
            mask &= rows[column] == wanted[column]
    if text:
        ids = rows["sample"].astype(object) + "\n" + rows["sample_name"].astype(object).fillna("")
        every = rows["answer"] + "\n" + rows["prompt"].astype(object) + "\n" + ids
        mask &= every.str.contains(text, case=False, regex=False)
    rows = rows.assign(worth=rows["state"].map({state: place for place, state in enumerate(STATES)}))
    keys = pd.MultiIndex.from_frame(rows[QUESTION])
    shown = rows[keys.isin(keys[mask].unique())].sort_values("worth", ascending=False, kind="stable")
    worst = shown.drop_duplicates([*QUESTION, "label"])
    disputed = worst.groupby(QUESTION, observed=True)["worth"].agg(lambda worth: (worth > 0).sum())
    order = disputed.sort_values(ascending=False, kind="stable").index[first : first + ROWS]
    cells = worst.set_index([*QUESTION, "label"])[["state", "answer", "prompt", "sample_name"]].to_dict("index")
    counts = shown.groupby("label", observed=True)["state"].value_counts()
    return {
        "found": len(disputed),
        "first": first,
        "rows": [
            {"question": question, "cells": [cells.get((*question, label)) for label in index.labels]}
            for question in order
        ],
        "models": rows["model"].unique().tolist(),
        "counts": {label: [(state, counts.get((label, state), 0)) for state in STATES] for label in index.labels},
    }


def shown_sample(index: Index, wanted: Mapping[str, str]) -> dict[str, Any]:
    """One sample (model, suite, sample) and every answer with its differences from the first one of the baseline."""
    question = (wanted["suite"], wanted["sample"])
    records = read_answers(index.folder, wanted["model"], [question])[question]
    judged = judged_answers(index.folder, index.manifest, *question, records)
    found = sorted(judged, key=lambda each: (not each.is_baseline, not each.wrong))
    base = next((answer_of(each.record) for each in found if each.is_baseline), None)
    compared = [list(difference(None if each.is_baseline else base, answer_of(each.record))) for each in found]
    return {"sample": found[0].sample, "answers": list(zip(found, compared, strict=True))}


def difference(before: str | None, after: str) -> Iterator[tuple[str, str]]:
    """(``same``, ``out`` or ``in``, words) of what turns one text into the other; only the first thousand words are
    compared."""
    new = visible(after, _MOST_TEXT).split(" ")
    old = new if before is None else visible(before, _MOST_TEXT).split(" ")
    codes = SequenceMatcher(None, old[:_MOST_WORDS], new[:_MOST_WORDS]).get_opcodes()
    for kind, begin, end, other_begin, other_end in codes:
        if kind != "equal":
            yield "out", " ".join(old[begin:end])
        yield ("same" if kind == "equal" else "in"), " ".join(new[other_begin:other_end])
    yield "same", " ".join(new[_MOST_WORDS:])


def page(index: Index, path: str, query: Mapping[str, str]) -> str:
    """The page of a path behind the token: "" (the samples) or ``sample``."""
    content = {"": grid, "sample": shown_sample}[path](index, query)
    content |= {"title": index.folder.path.name, "index": index, "states": STATES, "query": query}
    return drawn("view.html.j2", part("page.css") + part("view.css"), form_action="'self'", **content)


class ViewServer(ThreadingHTTPServer):
    """Serves the pages of a run on loopback, at ``address``."""

    daemon_threads = True

    def __init__(self, index: Index, port: int = 0) -> None:
        self.index, self.token = index, secrets.token_urlsafe(24)
        try:
            super().__init__((HOST, port), _Handler)
        except OSError as error:
            raise UsageError(f"--port {port} cannot be used: {error.strerror}. Leave it out for a free port.") from None
        self.address = f"http://{HOST}:{self.server_port}/{self.token}/"


class _Handler(BaseHTTPRequestHandler):
    server: ViewServer
    server_version, sys_version, timeout = "view", "", 30

    def do_GET(self) -> None:
        address, port = urlsplit(self.path), self.server.server_port
        token, _, path = address.path.removeprefix("/").partition("/")
        is_meant = self.headers.get("Host") in (f"{HOST}:{port}", f"localhost:{port}")
        status, body = 403, ""
        if is_meant and hmac.compare_digest(token.encode(), self.server.token.encode()):
            try:
                status, body = 200, page(self.server.index, path, dict(parse_qsl(address.query, max_num_fields=20)))
            except (LookupError, ValueError):
                status = 404
        content = body.encode("utf-8", "backslashreplace")
        self.send_response(status)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Referrer-Policy", "no-referrer")
        self.send_header("Cache-Control", "no-store")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: object) -> None:
        """Nothing: the address holds the token, and stderr may be kept."""
