"""The folder of a capacity search: capacity.json and the other files, and how a stored search is judged again.

::

    runs/<timestamp>-capacity/
    ├── capacity.json      bounds, limits, sessions and the curves found; no secret
    ├── capacity.html      the same as a page
    ├── capacity.csv       one row for each level
    ├── samples/           the questions
    └── records.jsonl      one line per counted answer; ``run`` names its session

The ``schema`` of capacity.json counts up when a key changes its meaning or goes; new keys may appear under the same
number.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from vendor_verifier.errors import RunFolderError
from vendor_verifier.features.capacity.curve import RAN_OUT, Curve
from vendor_verifier.features.capacity.limits import read_limits
from vendor_verifier.features.capacity.values import CapacityReport, VendorCapacity
from vendor_verifier.pipeline.plan import Prepared
from vendor_verifier.pipeline.suites import ready_suite
from vendor_verifier.redaction import Scrubber
from vendor_verifier.scoring.observation import Observation, observe
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import TRIGGER, Suite
from vendor_verifier.suites.judging import judged
from vendor_verifier.suites.trigger import KeptCheckers
from vendor_verifier.values.labels import shown_labels
from vendor_verifier.values.record import Record
from vendor_verifier.values.sample import Sample

if TYPE_CHECKING:
    import numpy as np


CAPACITY_SCHEMA = 1


class _Document(msgspec.Struct):
    schema: int
    capacity: CapacityReport


_decode = msgspec.json.Decoder(_Document).decode


def render(report: CapacityReport) -> str:
    """ASCII JSON with two-space indentation and a final newline."""
    document: dict[str, Any] = {"schema": CAPACITY_SCHEMA, "capacity": msgspec.to_builtins(report)}
    return json.dumps(document, indent=2, allow_nan=False, ensure_ascii=True) + "\n"


def read(text: bytes) -> CapacityReport:
    """The report in a document that :func:`render` wrote.

    Raises:
        msgspec.MsgspecError: not such a document, or one of a later version.
    """
    try:
        document = _decode(text)
    except (RecursionError, UnicodeDecodeError) as error:
        raise msgspec.DecodeError(str(error)) from None
    if document.schema != CAPACITY_SCHEMA:
        raise msgspec.ValidationError(f"schema {document.schema} is not known to this version")
    return document.capacity


DOCUMENT, PAGE, TABLE = "capacity.json", "capacity.html", "capacity.csv"
RUNS = Path("runs")


def new_folder(path: Path | None, prepared: Prepared) -> RunFolder:
    """An empty folder with the samples in it; without a ``path`` a new one under ``runs/``.

    Raises:
        RunFolderError: there is a search or a run in it already.
    """
    folder = RunFolder(path or RUNS / f"{datetime.now(UTC):%Y%m%dT%H%M%SZ}-capacity")
    if (folder.path / DOCUMENT).exists() or folder.manifest_file.exists():
        raise RunFolderError(f"{folder.path} already holds results; name another folder with --output-dir")
    folder.create()
    folder.write_samples(TRIGGER, prepared.plan.tasks[0].samples)
    return folder


def write_capacity(
    folder: RunFolder,
    report: CapacityReport,
    scrubber: Scrubber,
    only: str | None = None,
) -> list[Path]:
    """Write the document, the page and the table, or one of them; the paths written."""
    from vendor_verifier.features.capacity import page, text

    written = []
    if only in (None, DOCUMENT):
        written.append(folder.write(DOCUMENT, scrubber.text(render(report))))
    if only in (None, PAGE):
        written.append(folder.write(PAGE, scrubber.text(page.render(report))))
    if only in (None, TABLE):
        written.append(folder.write(TABLE, scrubber.text(text.csv_of(report))))
    return written


def judge_again(folder: RunFolder, limits: Sequence[str], at_least: float | None = None) -> CapacityReport:
    """The stored curves from their records, held to ``limits`` and ``at_least`` instead of the stored ones if given.

    Raises:
        RunFolderError: no search for capacity, or one that cannot be read.
        ThresholdError: a limit that does not follow the grammar.
    """
    stored = _read(folder)
    thresholds = read_limits(limits, stored.kind) if limits else stored.thresholds
    samples = folder.read_samples(TRIGGER)
    records: dict[tuple[str, str, str], list[Record]] = {}
    unreadable: list[str] = []
    for record in folder.read_records(lambda line, why: unreadable.append(f"{line}: {why}")):
        records.setdefault((record.model, record.label, record.run), []).append(record)
    vendors = []
    for vendor in stored.vendors:
        ids = [sample.id for sample in samples]
        curve = Curve(
            vendor.model, vendor.label, vendor.vendor, thresholds, ids, stored.bounds, lambda: new_rng(stored.seed)
        )
        suite = ready_suite(TRIGGER, {}, samples)
        for session in vendor.sittings:
            if session.is_aside:
                curve.set_aside(session)
                continue
            own = [] if session.lost else records.get((vendor.model, vendor.label, session.name), [])
            curve.add(session, with_observations(own, samples, suite))
        vendors.append(_concluded(curve, vendor))
    left_out = [f"cannot be read and is not judged: {line}" for line in unreadable]
    wanted = stored.at_least if at_least is None else at_least
    return replace(
        stored, at_least=wanted, thresholds=thresholds, vendors=tuple(vendors), warnings=(*stored.warnings, *left_out)
    )


def _concluded(curve: Curve, stored: VendorCapacity) -> VendorCapacity:
    return curve.concluded(stored.reason if stored.reason in RAN_OUT else None)


def _read(folder: RunFolder) -> CapacityReport:
    path = folder.path / DOCUMENT
    try:
        return read(shown_labels(path.read_text(encoding="utf-8")).encode())
    except FileNotFoundError:
        raise RunFolderError(f"{folder.path} is no folder of `capacity`: it holds no {DOCUMENT}") from None
    except (OSError, UnicodeDecodeError, msgspec.MsgspecError) as error:
        raise RunFolderError(f"{path} cannot be read: {error}") from None


def with_observations(
    records: Iterable[Record], samples: Sequence[Sample], suite: Suite
) -> list[tuple[Record, Observation]]:
    """Each record with its observation."""
    by_id, checkers = {sample.id: sample for sample in samples}, KeptCheckers()
    known = [(record, by_id[record.sample]) for record in records if record.sample in by_id]
    return [(record, observe(record, judged(record, suite, sample, checkers), sample)) for record, sample in known]


def new_rng(seed: int) -> np.random.Generator:
    """The same generator for every level, so that judging again gives the same intervals."""
    import numpy as np

    return np.random.default_rng(abs(seed))
