"""The recount of stored answers by a tokenizer, and the names that a stored run's answers bear.

The counts of a recount are kept beside the records, so that scoring needs neither the tokenizer nor its library, here
or elsewhere. Only plain texts are counted: the template's form of tool calls is not known here.
"""

from __future__ import annotations

import hashlib
import importlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import structs

from vendor_verifier.audit.identity import served_names
from vendor_verifier.errors import RunFolderError, install_line
from vendor_verifier.metrics.answer import reported_usage
from vendor_verifier.store import RunFolder
from vendor_verifier.values.judgement import ServedNames
from vendor_verifier.values.labels import shown_labels
from vendor_verifier.values.nested_dict import nested_dict
from vendor_verifier.values.record import Record
from vendor_verifier.words import english

FILE = "recount.json"
INSTALL = install_line("tokenizer")
_NO_TEXTS = "the run stored no texts"
Count = Callable[[Sequence[str]], list[int]]


class Recounted(msgspec.Struct, frozen=True):
    """One model's answers: label → sample → (reported, counted) output tokens; ``trouble`` is why there are none."""

    tokenizer: str
    sha256: str = ""
    trouble: str | None = None
    vendors: Mapping[str, Mapping[str, tuple[int, int]]] = msgspec.field(default_factory=dict)


def recount(folder: RunFolder, tokenizers: Mapping[str, str], *, redacted: bool = False) -> None:
    """Count every model that has a tokenizer (a file, a folder with ``tokenizer.json``, or a hub name) and keep it.

    Raises:
        StorageError: the disk refused.
    """
    if tokenizers:
        found = {model: _recounted(folder, model, name, redacted=redacted) for model, name in tokenizers.items()}
        write_recount(folder, found)


def read_recount(folder: RunFolder) -> dict[str, Recounted]:
    """The stored recount by model; empty where none was made.

    Raises:
        RunFolderError: the file is damaged.
    """
    path = folder.path / FILE
    try:
        return msgspec.json.decode(shown_labels(path.read_text(encoding="utf-8")), type=dict[str, Recounted])
    except FileNotFoundError:
        return {}
    except (OSError, RecursionError, UnicodeDecodeError, msgspec.DecodeError) as error:
        raise RunFolderError(f"{path} cannot be read: {error}") from None


def merged_recount(found: Sequence[Mapping[str, Recounted]]) -> dict[str, Recounted] | None:
    """The recounts of several runs as that of all their answers, the first answer to a sample first; None where one run
    has none, or was counted otherwise."""
    first, *others = found
    for each in others:
        if each.keys() != first.keys() or any(_of(each[model]) != _of(first[model]) for model in first):
            return None
    if not first:
        return None
    return {
        model: structs.replace(own, vendors=_joined([each[model] for each in found])) for model, own in first.items()
    }


def _of(counted: Recounted) -> tuple[str, str, str | None]:
    return counted.tokenizer, counted.sha256, counted.trouble


def _joined(found: Sequence[Recounted]) -> dict[str, dict[str, tuple[int, int]]]:
    joined: dict[str, dict[str, tuple[int, int]]] = {}
    for each in found:
        for label, samples in each.vendors.items():
            # As a recount of all would: of several answers to a sample the first counts.
            joined[label] = {**samples, **joined.get(label, {})}
    return joined


def write_recount(folder: RunFolder, found: Mapping[str, Recounted]) -> None:
    """Keep a recount.

    Raises:
        StorageError: the disk refused.
    """
    folder.write(FILE, msgspec.json.encode({model: nested_dict(each) for model, each in found.items()}))


def recount_troubles(found: Mapping[str, Recounted]) -> list[str]:
    """A sentence for each model whose output tokens could not be counted, with the reason."""
    return [
        english("warn_recount", model=model, tokenizer=each.tokenizer, trouble=each.trouble)
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
    for record in folder.read_records(lambda _line, _reason: None):
        counted = _countable(record) if record.model == model else None
        if counted is not None:
            found.setdefault(record.label, {}).setdefault(record.sample, counted)
    return found


def _countable(record: Record) -> tuple[int, str] | None:
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
                answers.items(), count([text for _, text in answers.values()]), strict=True
            )
        }
        for label, answers in texts.items()
    }


def names_in(folder: RunFolder) -> dict[tuple[str, str], ServedNames]:
    """The served models and fingerprints in the answers of a stored run, by entry.

    Raises:
        RunFolderError: not a readable run folder.
    """
    found: dict[tuple[str, str], list[tuple[str | None, str | None]]] = {}
    for record in folder.read_records(lambda _line, _reason: None):
        answer = None if record.final is None else record.final.response
        if answer is not None:
            found.setdefault((record.model, record.label), []).append((answer.served_model, answer.fingerprint))
    return {key: served_names(names) for key, names in found.items()}
