"""Findings on bills, identity and behaviour, gathered while records pass, and the recount of stored answers.

The counts of a recount are kept beside the records, so that scoring needs neither the tokenizer nor its library, here
or elsewhere. Only plain texts are counted: how a template writes tool calls down is not known here.
"""

from __future__ import annotations

import hashlib
import importlib
import sys
from array import array
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import msgspec

from vendor_verifier.audit.answer_table import BilledAttempts, Claims, IdentityRows
from vendor_verifier.audit.behaviour import behaviour_findings, difference_findings
from vendor_verifier.audit.billing import (
    cache_finding,
    cost_finding,
    hidden_reasoning_finding,
    prompt_pairs,
    prompt_token_findings,
    prompt_tokens,
    recount_finding,
    same_counter_findings,
    shared_beginnings,
    unexplained_cache_finding,
)
from vendor_verifier.audit.cost import billed_attempts
from vendor_verifier.audit.identity import (
    IdentityRow,
    identity_findings,
    identity_row,
    pass_through_findings,
    served_names,
)
from vendor_verifier.errors import RunFolderError
from vendor_verifier.installing import install_line
from vendor_verifier.metrics.tokens import reported_usage
from vendor_verifier.scoring.observation_table import Columns, Key
from vendor_verifier.stats.ratio_table import Trials
from vendor_verifier.store import RunFolder
from vendor_verifier.values.judgement import Finding, Gap, Money, RankingJudgement, ServedNames
from vendor_verifier.values.record import Record
from vendor_verifier.values.sample import ChosenSamples, Sample, Samples

EntryKey = tuple[str, str]
_NEVER = "~"


@dataclass(slots=True)
class Audit:
    """One entry's answers. ``rows``, ``reasoning`` (billed tokens, whether any was shown) and ``cached`` (prompt and
    cached tokens) are by (suite, sample, repetition), of the answer that stands; ``attempts`` are all that may be
    billed, ``duplicated_attempts`` those of records that were made twice."""

    rows: IdentityRows = field(default_factory=IdentityRows)
    reasoning: Claims = field(default_factory=Claims)
    cached: Claims = field(default_factory=Claims)
    attempts: BilledAttempts = field(default_factory=BilledAttempts)
    duplicated_attempts: BilledAttempts = field(default_factory=BilledAttempts)

    def cached_once(self) -> list[tuple[str, int, int]]:
        """(sample, prompt tokens, cached tokens) of the prompts that were sent once and are said to be cached."""
        sent = self.attempts.by_sample()
        return [claim for claim in self.cached if claim[2] and sent[claim[0]] == 1]

    def take(self, record: Record, key: Key, asked_model: str, max_tokens: int | None) -> None:
        """Note one record; the first success under its key stands."""
        self.attempts.add(key, billed_attempts(record))
        final = record.final
        row = identity_row(record, asked_model, max_tokens)
        if row is None or final is None or final.response is None or (key in self.rows and not record.succeeded):
            return
        self.rows.put(key, row)
        usage = reported_usage(final)
        if usage.reasoning is not None:
            self.reasoning.put(key, usage.reasoning, bool(final.response.reasoning.strip()))
        if usage.cached is not None and usage.input is not None:
            self.cached.put(key, usage.input, usage.cached)


@dataclass(frozen=True, slots=True)
class Audits:
    """All entries' notes. ``entries`` are the manifest's, ``samples`` are by suite, without those that stand apart."""

    entries: Mapping[EntryKey, Mapping[str, Any]]
    samples: Mapping[str, Samples]
    found: dict[EntryKey, Audit] = field(default_factory=dict)
    _first_sent: dict[str, list[str]] = field(default_factory=dict)

    def take(self, record: Record) -> None:
        """Note a record of the plan; others are left alone."""
        key = (record.model, record.label)
        entry, samples = self.entries.get(key), self.samples.get(record.suite)
        place = None if samples is None else samples.place_of(record.sample)
        if entry is None or samples is None or place is None:
            return
        sample = samples.at(place)
        self._note_sending(record, place)
        own = entry.get("parameters") or {}
        stated = own["max_tokens"] if "max_tokens" in own else sample.turn.parameters.get("max_tokens")
        limit = stated if isinstance(stated, int) else None
        # The texts that others hold too, not the record's own.
        unit = (sys.intern(record.suite), sample.id, record.repetition)
        self._audit(key).take(record, unit, str(entry.get("model_id") or record.model), limit)

    def take_duplicate(self, record: Record) -> None:
        """Note that a record of the plan was paid for twice; nothing else is learnt of it."""
        key = (record.model, record.label)
        samples = self.samples.get(record.suite)
        if key in self.entries and samples is not None and samples.place_of(record.sample) is not None:
            unit = (record.suite, record.sample, record.repetition)
            self._audit(key).duplicated_attempts.add(unit, billed_attempts(record))

    def _audit(self, key: EntryKey) -> Audit:
        found = self.found.get(key)
        if found is None:
            found = self.found[key] = Audit()
        return found

    def in_sending_order(self) -> dict[str, Samples]:
        """The samples by suite, each in the order in which it was first sent to anybody; never sent ones go last."""
        return {
            suite: ChosenSamples(found, array("Q", sorted(range(len(found)), key=self._moments(suite).__getitem__)))
            for suite, found in self.samples.items()
        }

    def _moments(self, suite: str) -> list[str]:
        """When each sample of a suite was first sent; a text that is later than any where it was not."""
        found = self._first_sent.get(suite)
        if found is None:
            found = self._first_sent[suite] = [_NEVER] * len(self.samples[suite])
        return found

    def _note_sending(self, record: Record, place: int) -> None:
        attempts = record.turns[0].attempts if record.turns else ()
        timing = attempts[0].timing if attempts else None
        if timing is not None:
            moments = self._moments(record.suite)
            # UTC in one format: the texts order as the moments do.
            moments[place] = min(timing.sent_at, moments[place])

    def of(self, model: str, label: str) -> Audit:
        """The notes on one entry, empty if nothing was heard of it."""
        return self.found.get((model, label)) or Audit()


def names_in(folder: RunFolder) -> dict[EntryKey, ServedNames]:
    """Which models and fingerprints the answers of a stored run bear, by entry.

    Raises:
        RunFolderError: not a readable run folder.
    """
    rows: dict[EntryKey, list[IdentityRow]] = {}
    for record in folder.read_records(lambda _number, _reason: None):
        row = identity_row(record, record.model)
        if row is not None:
            rows.setdefault((record.model, record.label), []).append(row)
    return {key: served_names(found) for key, found in rows.items()}


def bill_findings(
    audits: Mapping[str, Audit],
    money: Mapping[str, Money],
    samples: Sequence[Sample],
    recounted: Mapping[str, Mapping[str, tuple[int, int]]],
) -> Iterator[Finding]:
    """What each vendor's own bill says, without comparing it with another's.

    ``samples`` are all that were asked; ``recounted``: label → sample → (reported, counted) output tokens.
    """
    shares: dict[str, float] | None = None
    for label, audit in audits.items():
        claims = audit.cached_once()
        # Prompts are long: they are held against each other only where somebody claims a cache.
        if claims and shares is None:
            shares = shared_beginnings(samples)
        found = (
            hidden_reasoning_finding(
                label, ((sample, tokens, bool(shown)) for sample, tokens, shown in audit.reasoning)
            ),
            cache_finding(label, audit.cached),
            unexplained_cache_finding(label, claims, shares or {}),
            _recount_finding(label, recounted.get(label, {})),
            cost_finding(label, money[label]) if label in money else None,
        )
        yield from (finding for finding in found if finding is not None)


def _recount_finding(label: str, counts: Mapping[str, tuple[int, int]]) -> Finding | None:
    reported, counted = ({name: float(pair[place]) for name, pair in counts.items()} for place in (0, 1))
    return recount_finding(label, reported, counted)


def prompt_findings(trials: Sequence[Trials], baseline: str | None) -> Iterator[Finding]:
    """Prompt tokens against the baseline's, and between vendors."""
    by_label = {each.label: each for each in trials}
    reference = by_label.get(baseline or "")
    if reference is not None:
        for label, each in by_label.items():
            if label != baseline:
                yield from prompt_token_findings(label, prompt_pairs(reference, each))
    counts = {label: prompt_tokens(each) for label, each in by_label.items()}
    yield from same_counter_findings(counts, baseline)


def who_answered(rows: Mapping[str, Sequence[IdentityRow]]) -> Iterator[Finding]:
    """Names, ids and bytes of the answers, by label."""
    repeating = False
    for label, each in rows.items():
        own = identity_findings(label, each)
        repeating = repeating or any(finding.name == "answers_repeated" for finding in own)
        yield from own
    for finding in pass_through_findings(rows):
        # Where a vendor answers itself byte for byte, equal bytes elsewhere say nothing about a common source.
        if finding.name != "identical_answers" or not repeating:
            yield finding


def conduct(
    columns: Mapping[str, Columns], baseline: str | None, ranking: RankingJudgement | None, gaps: Sequence[Gap]
) -> Iterator[Finding]:
    """What vendors do otherwise than the baseline."""
    reference = columns.get(baseline or "")
    by_label = {gap.label: gap for gap in gaps}
    for label, own in columns.items():
        yield from behaviour_findings(label, own, None if label == baseline else reference)
        if ranking is not None and reference is not None and baseline is not None and label != baseline:
            yield from difference_findings(label, own, (baseline, reference), ranking, by_label.get(label), len(gaps))


FILE = "recount.json"
INSTALL = install_line("tokenizer")
_NO_TEXTS = "the run stored no texts"
Count = Callable[[Sequence[str]], list[int]]


@dataclass(frozen=True, slots=True)
class Recounted:
    """One model's answers: label → sample → (reported, counted) output tokens; ``trouble`` is why there are none."""

    tokenizer: str
    sha256: str = ""
    trouble: str | None = None
    vendors: Mapping[str, Mapping[str, tuple[int, int]]] = field(default_factory=dict)


def recount(folder: RunFolder, tokenizers: Mapping[str, str], *, redacted: bool = False) -> None:
    """Count every model that has a tokenizer (a file, a folder with ``tokenizer.json``, or a hub name) and keep it.

    Raises:
        StorageError: the disk refused.
    """
    if tokenizers:
        found = {model: _recounted(folder, model, name, redacted=redacted) for model, name in tokenizers.items()}
        folder.write(FILE, msgspec.json.encode({model: asdict(each) for model, each in found.items()}))


def read_recount(folder: RunFolder) -> dict[str, Recounted]:
    """What was counted, by model; empty where nothing was to be.

    Raises:
        RunFolderError: the file is damaged.
    """
    path = folder.path / FILE
    try:
        return msgspec.json.decode(path.read_bytes(), type=dict[str, Recounted])
    except FileNotFoundError:
        return {}
    except (OSError, RecursionError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise RunFolderError(f"{path} cannot be read: {error}") from None


def recount_troubles(found: Mapping[str, Recounted]) -> list[str]:
    """Why output tokens were not counted, a sentence a model."""
    return [
        f"{model}: output tokens cannot be measured against {each.tokenizer}: {each.trouble}"
        for model, each in found.items()
        if each.trouble is not None
    ]


def _recounted(folder: RunFolder, model: str, name: str, *, redacted: bool) -> Recounted:
    known_as = Path(name).name if Path(name).exists() else name
    if redacted:
        return Recounted(known_as, trouble=_NO_TEXTS)
    try:
        library = importlib.import_module("tokenizers")
    except ImportError:
        return Recounted(known_as, trouble=INSTALL)
    try:
        tokenizer = _load(library.Tokenizer, name)
    except Exception as error:  # noqa: BLE001 the library raises nothing narrower
        return Recounted(known_as, trouble=str(error).strip().partition("\n")[0][:300])

    def count(texts: Sequence[str]) -> list[int]:
        return [len(each) for each in tokenizer.encode_batch(list(texts), add_special_tokens=False)]

    digest = hashlib.sha256(tokenizer.to_str().encode()).hexdigest()
    return Recounted(known_as, digest, vendors=_counted(_texts(folder, model), count))


def _load(kind: Any, name: str) -> Any:
    path = Path(name)
    if path.is_dir():
        path /= "tokenizer.json"
    return kind.from_file(str(path)) if path.exists() else kind.from_pretrained(name)


def _texts(folder: RunFolder, model: str) -> dict[str, dict[str, tuple[int, str]]]:
    """Label → sample → (reported tokens, text), of whole plain answers; the first of several counts."""
    found: dict[str, dict[str, tuple[int, str]]] = {}
    for record in folder.read_records(lambda _number, _reason: None):
        told = _told(record) if record.model == model else None
        if told is not None:
            found.setdefault(record.label, {}).setdefault(record.sample, told)
    return found


def _told(record: Record) -> tuple[int, str] | None:
    """Tokens and text of an answer without calls that ended by itself; hidden reasoning is taken off its tokens."""
    final = record.final
    if not record.succeeded or final is None or final.response is None:
        return None
    response, usage = final.response, reported_usage(final)
    text = response.reasoning + response.text
    if response.tool_calls or response.finish_reason != "stop" or usage.output is None or not text.strip():
        return None
    hidden = 0 if response.reasoning else usage.reasoning or 0
    return max(0, usage.output - hidden), text


def _counted(texts: Mapping[str, Mapping[str, tuple[int, str]]], count: Count) -> dict[str, dict[str, tuple[int, int]]]:
    return {
        label: {
            sample: (reported, counted)
            for (sample, (reported, _)), counted in zip(
                told.items(), count([text for _, text in told.values()]), strict=True
            )
        }
        for label, told in texts.items()
    }
