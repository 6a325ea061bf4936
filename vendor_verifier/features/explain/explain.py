"""Gathers the evidence of a stored run about one vendor: its worst samples, or one answer with all around it.

It sends nothing, reads no key and writes nothing. An answer's request is shown as a ``curl`` command for a POSIX shell:
the key is a variable, and what strangers wrote stands only in a quoted here-document of ASCII JSON.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

from vendor_verifier.config.suite_options import known_suite
from vendor_verifier.errors import Problem, ProblemsError, RunFolderError
from vendor_verifier.features.explain.find_problems import (
    Answers,
    BadSamples,
    Explanation,
    bad_samples_of,
    expected_decisions,
    other_answer,
    read_answers,
    reasons,
    severity,
    turns_asked,
    violations_of,
)
from vendor_verifier.pipeline.manifest import stored_manifest
from vendor_verifier.pipeline.plan import RAW, wire_of
from vendor_verifier.pipeline.suites import hooks_of, ready_suite
from vendor_verifier.records.labels import shown_label
from vendor_verifier.records.manifest import EntryInfo, Manifest, StoredEntry, StoredTask
from vendor_verifier.records.plan import SIMULATED, Entry
from vendor_verifier.records.record import Record, supersedes
from vendor_verifier.records.request import Endpoint, HttpRequest, Turn
from vendor_verifier.records.sample import Sample
from vendor_verifier.records.score import Score
from vendor_verifier.registry import WIRES, find_vendors
from vendor_verifier.reports.escape import plain
from vendor_verifier.run.conversation import with_parameters
from vendor_verifier.scoring.observation import observe
from vendor_verifier.store import RunFolder
from vendor_verifier.suites import Suite
from vendor_verifier.suites.judging import judged
from vendor_verifier.suites.schema import ArgumentChecker
from vendor_verifier.suites.trigger import KeptCheckers
from vendor_verifier.words import Sentence, english

# Put where the key belongs when the request is built, and replaced by the variable here.
KEY_PLACE = "KEY-PLACE-OF-THE-VENDOR"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_MOST = 2_000


def curl_command(request: HttpRequest, key_name: str | None) -> str:
    """The command, several lines; the key is ``$key_name``, or ``$API_KEY`` where that is no shell variable."""
    variable = key_name if key_name and _VARIABLE.fullmatch(key_name) else "API_KEY"
    lines = [f"curl -sS -N -X {request.method} {_shell(request.url, variable)}"]
    lines += [f"-H {_shell(f'{name}: {value}', variable)}" for name, value in request.headers.items()]
    lines.append("--data-binary @- <<'JSON'")
    return " \\\n  ".join(lines) + f"\n{_harmless_json(request.body)}\nJSON"


def _shell(text: str, variable: str) -> str:
    """One word of a shell; only the key's place is expanded."""
    shown = plain(text, _MOST)
    if KEY_PLACE not in shown:
        return shlex.quote(shown)
    guarded = re.sub(r'([\\"$`])', r"\\\1", shown)
    return '"' + guarded.replace(KEY_PLACE, "${" + variable + "}") + '"'


def _harmless_json(body: bytes) -> str:
    """The same JSON in printable ASCII on one line, without what a CI log takes for a command."""
    text = json.dumps(json.loads(body), ensure_ascii=True, separators=(",", ":")).replace("\x7f", "\\u007f")
    # Both can only stand inside strings, where an escape is the same character.
    return text.replace("::", "\\u003a\\u003a").replace("##[", "\\u0023\\u0023[")


_SIMULATED = "http://127.0.0.1:8600"


def curl_for(
    manifest: Manifest, model: str, label: str, turn: Turn | None, *, redacted: bool
) -> tuple[str | None, str | None]:
    """The command and None, or None and the reason that there is none."""
    if redacted:
        return None, english("no_curl_redacted")
    if turn is None:
        return None, english("no_curl_unplayable")
    stored = next(each for each in manifest.entries if each.key == (model, label))
    url = stored.url or ""
    if not url.startswith(("http://", "https://", SIMULATED)):
        return None, english("no_curl_imported")
    if stored.wire == RAW:
        return None, english("no_curl_raw")
    if stored.wire not in WIRES:
        return None, english("no_curl_wire", wire=repr(stored.wire))
    entry = _entry(stored, url)
    wire = wire_of(entry, find_vendors().vendor(entry.vendor), WIRES)
    request = wire.request(with_parameters(turn, entry), entry.endpoint)
    return _with_remarks(curl_command(request, entry.key_name), stored, url), None


def _entry(stored: StoredEntry, url: str) -> Entry:
    key_name = stored.key_name
    if url.startswith(SIMULATED):
        url = f"{_SIMULATED}/{url.removeprefix(SIMULATED).strip('/')}/v1"
    return Entry(
        model=stored.model,
        label=stored.label,
        vendor=stored.vendor,
        endpoint=Endpoint(
            base_url=url,
            model_id=stored.model_id,
            key=KEY_PLACE if key_name else None,
            body=stored.extra_body or {},
        ),
        wire=stored.wire or "",
        account=str(stored.account),
        key_name=key_name,
        parameters=stored.parameters,
    )


def _with_remarks(curl: str, stored: StoredEntry, url: str) -> str:
    """The command below comments on what it takes besides."""
    if stored.extra_headers:
        curl = english("curl_headers", names=plain(", ".join(stored.extra_headers)), curl=curl)
    return english("curl_simulated", curl=curl) if url.startswith(SIMULATED) else curl


_Place = tuple[str, str, int]


class Wanted(msgspec.Struct, frozen=True):
    """The vendor and sample to explain. ``vendor`` is a label or a vendor's name, or None for the only one there is; a
    sample may be an id's beginning."""

    vendor: str | None
    sample: str | None = None
    model: str | None = None
    suite: str | None = None
    repetition: int | None = None


def worst_samples(folder: RunFolder, wanted: Wanted, most: int) -> BadSamples:
    """The samples that went wrong at the vendor, worst first, at most ``most`` of them.

    Raises:
        RunFolderError: not a readable run folder.
        ProblemsError: no such vendor, model or evaluation in the run.
    """
    manifest = stored_manifest(folder)
    _check_suite(manifest, wanted.suite)
    infos = manifest.infos
    chosen = _entries(infos, wanted)
    models = {info.model for info in chosen}
    answers = read_answers(
        folder, [info for info in infos if info in chosen or (info.is_baseline and info.model in models)]
    )
    found = [
        sample
        for info in chosen
        for sample in bad_samples_of(info, answers[_key(info)], expected_decisions(infos, info, answers))
        if wanted.suite in (None, sample.suite)
    ]
    found.sort(key=lambda sample: (severity(sample.reasons[0]), -sample.records))
    read = sum(len(answers[_key(info)]) for info in chosen)
    return BadSamples(manifest.run, tuple(found[:most]), len(found), read, tuple(_notes(folder, manifest)))


def explain(folder: RunFolder, wanted: Wanted) -> tuple[Explanation, ...]:
    """The vendor's answer to one sample, once per model and evaluation that has it.

    Of several repetitions the first that went wrong is taken, else the first.

    Raises:
        RunFolderError: not a readable run folder.
        ProblemsError: no such vendor, model, evaluation or sample, or no answer of the vendor to it.
    """
    manifest = stored_manifest(folder)
    _check_suite(manifest, wanted.suite)
    infos = manifest.infos
    chosen = _entries(infos, wanted)
    found = [
        explained
        for task, sample in _samples(folder, manifest, wanted)
        for explained in _explain_sample(folder, manifest, task, sample, chosen, wanted)
    ]
    if not found:
        raise ProblemsError([Problem("the run holds no answer of this vendor to it", key=f"--sample {wanted.sample}")])
    return tuple(found)


def _entries(infos: Sequence[EntryInfo], wanted: Wanted) -> list[EntryInfo]:
    of_model = [info for info in infos if wanted.model in (None, info.model)]
    if not of_model:
        raise ProblemsError([Problem(_expected(wanted.model, (info.model for info in infos)), key="--model")])
    labels = list(dict.fromkeys(info.label for info in of_model))
    if wanted.vendor is None:
        if len(labels) > 1:
            raise ProblemsError([Problem(f"read nothing; the run has {', '.join(labels)}", key="--vendor")])
        return of_model
    name = shown_label(wanted.vendor).casefold()
    by_label = [info for info in of_model if info.label.casefold() == name]
    found = by_label or [info for info in of_model if info.vendor.casefold() == name]
    if not found:
        raise ProblemsError([Problem(_expected(wanted.vendor, labels), key="--vendor")])
    return found


def _check_suite(manifest: Manifest, suite: str | None) -> None:
    names = manifest.suites
    if suite is not None and suite not in names:
        raise ProblemsError([Problem(_expected(suite, names), key="--suite")])


def _expected(read: str | None, known: Iterator[str] | Sequence[str]) -> str:
    return f"read {read!r}; the run has {', '.join(dict.fromkeys(known))}"


def _samples(folder: RunFolder, manifest: Manifest, wanted: Wanted) -> list[tuple[StoredTask, Sample]]:
    """The sample of that id, in every evaluation that has it."""
    start = wanted.sample or ""
    every = [
        (task, sample)
        for task in manifest.tasks
        if wanted.suite in (None, task.suite)
        for sample in folder.read_samples(task.suite)
        if sample.id.startswith(start)
    ]
    exact = [(task, sample) for task, sample in every if sample.id == start]
    found = exact or every
    ids = list(dict.fromkeys(sample.id for _, sample in found))
    if len(ids) != 1:
        words = f"{len(ids)} samples begin so, such as {', '.join(ids[:3])}" if ids else "the run has no such sample"
        raise ProblemsError([Problem(words, key=f"--sample {start}")])
    return found


class _Judged(msgspec.Struct, frozen=True):
    """All answers of a run to one sample, judged; records and scores by model, label and repetition."""

    suite: Suite
    sample: Sample
    records: Mapping[_Place, Record]
    scores: Mapping[_Place, Score]
    answers: Answers

    def reasons(self, infos: Sequence[EntryInfo], info: EntryInfo) -> dict[int, tuple[Sentence, ...]]:
        """The problems of the answers of ``info``, by repetition."""
        decided = expected_decisions(infos, info, self.answers).get((self.suite.name, self.sample.id), frozenset())
        own = self.answers.get(_key(info), {}).values()
        return {each.repetition: reasons(each.traits, decided) for each in own}


def _judged(folder: RunFolder, task: StoredTask, sample: Sample, records: Mapping[_Place, Record]) -> _Judged:
    suite = ready_suite(task.suite, task.options, [sample], folder)
    checkers = KeptCheckers()
    scores = {key: judged(record, suite, sample, checkers) for key, record in records.items()}
    answers: Answers = {}
    for (model, label, _), record in records.items():
        answer = observe(record, scores[model, label, record.repetition], sample)
        answers.setdefault((model, label), {})[answer.key] = answer
    return _Judged(suite, sample, records, scores, answers)


def _explain_sample(
    folder: RunFolder,
    manifest: Manifest,
    task: StoredTask,
    sample: Sample,
    chosen: Sequence[EntryInfo],
    wanted: Wanted,
) -> Iterator[Explanation]:
    found = _judged(folder, task, sample, _records(folder, task.suite, sample.id))
    for info in chosen:
        wrong = found.reasons(manifest.infos, info)
        own = [each for each in wrong if wanted.repetition in (None, each)]
        if own:
            repetition = min(own, key=lambda each: (not wrong[each], each))
            yield _explanation(manifest, found, (*_key(info), repetition), wrong[repetition])


def explanations(
    folder: RunFolder, manifest: Manifest, suite: str, records: Sequence[Record]
) -> tuple[Explanation, ...]:
    """Every one of these answers to one sample of a suite, explained; of two under one key the one that counts.

    Raises:
        RunFolderError: the run lacks the sample.
    """
    task = next(each for each in manifest.tasks if each.suite == suite)
    sample = folder.read_samples(suite).named(records[0].sample)
    if sample is None:
        raise RunFolderError(f"{folder.path} holds no sample {records[0].sample}")
    found = _judged(folder, task, sample, _by_place(records))
    return tuple(
        _explanation(manifest, found, (*_key(info), repetition), wrong)
        for info in manifest.infos
        for repetition, wrong in found.reasons(manifest.infos, info).items()
    )


def _key(info: EntryInfo) -> tuple[str, str]:
    return (info.model, info.label)


def _records(folder: RunFolder, suite: str, sample: str) -> dict[_Place, Record]:
    every = folder.read_records(lambda _line, _reason: None)
    return _by_place(record for record in every if record.suite == suite and record.sample == sample)


def _by_place(records: Iterable[Record]) -> dict[_Place, Record]:
    found: dict[_Place, Record] = {}
    for record in records:
        place = (record.model, record.label, record.repetition)
        if place not in found or supersedes(record, found[place]):
            found[place] = record
    return found


def _explanation(manifest: Manifest, found: _Judged, key: _Place, wrong: tuple[Sentence, ...]) -> Explanation:
    record, score, sample = found.records[key], found.scores[key], found.sample
    is_redacted = manifest.redacted and record.score is not None
    asked = () if is_redacted else tuple(turns_asked(found.suite, sample, record))
    curl, no_curl = curl_for(manifest, key[0], key[1], asked[-1] if asked else None, redacted=is_redacted)
    baselines = {_key(info) for info in manifest.infos if info.is_baseline}
    others = [
        other_answer(
            each,
            found.scores[place],
            found.answers[place[:2]][each.suite, each.sample, each.repetition],
            is_baseline=place[:2] in baselines,
        )
        for place, each in found.records.items()
        if place[0] == key[0] and place != key
    ]
    return Explanation(
        record=record,
        sample=sample,
        score=score,
        asked=asked,
        violations=tuple(violations_of(record, score, sample, is_redacted=is_redacted)),
        reasons=wrong,
        defects=() if is_redacted else ArgumentChecker(sample.turn.tools).defects,
        others=tuple(sorted(others, key=lambda other: (not other.is_baseline, other.label, other.repetition))),
        redacted=is_redacted,
        curl=curl,
        no_curl=no_curl,
    )


def _notes(folder: RunFolder, manifest: Manifest) -> Iterator[str]:
    if manifest.redacted:
        yield english("explain_redacted_run")
    for task in manifest.tasks:
        yield from hooks_of(known_suite(task.suite)).unjudged_without_code(folder.read_samples(task.suite))
