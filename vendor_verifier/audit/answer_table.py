"""What one entry's answers say of who gave them and what they are billed by, in little space; it judges nothing.

Rows are kept as columns and made anew when they are walked over.
"""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Iterable, Iterator

from vendor_verifier.audit.cost import BilledAttempt
from vendor_verifier.audit.identity import IdentityRow
from vendor_verifier.scoring.observation_table import Key, Numbers
from vendor_verifier.values.event import Usage

# Which model was asked for and which served, the fingerprint, the limit of tokens, and why it ended.
_Told = tuple[str, str | None, str | None, int | None, str | None]
_DIGEST_BYTES = 32
_NO_DIGEST = bytes(_DIGEST_BYTES)


class IdentityRows:
    """Identity rows by key, in the order in which keys came."""

    def __init__(self) -> None:
        self._places: dict[Key, int] = {}
        self._known: dict[_Told, _Told] = {}
        self._told: list[_Told] = []
        self._response_ids: list[str | None] = []
        self._digests = bytearray()
        self._output_tokens: list[int | None] = []

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __iter__(self) -> Iterator[IdentityRow]:
        for (_, sample, repetition), place in self._places.items():
            asked_model, served_model, fingerprint, max_tokens, finish_reason = self._told[place]
            digest = self._digests[place * _DIGEST_BYTES : (place + 1) * _DIGEST_BYTES]
            yield IdentityRow(
                sample,
                repetition,
                asked_model,
                served_model,
                fingerprint,
                self._response_ids[place],
                None if digest == _NO_DIGEST else digest.hex(),
                self._output_tokens[place],
                max_tokens,
                finish_reason,
            )

    def put(self, key: Key, row: IdentityRow) -> None:
        """Keep ``row`` instead of what is kept under ``key``; its sample and repetition are the key's."""
        told = (row.asked_model, row.served_model, row.fingerprint, row.max_tokens, row.finish_reason)
        told = self._known.setdefault(told, told)
        place = self._places.setdefault(key, len(self._told))
        if place == len(self._told):
            self._told.append(told)
            self._response_ids.append(row.response_id)
            self._output_tokens.append(row.output_tokens)
        else:
            self._told[place], self._response_ids[place] = told, row.response_id
            self._output_tokens[place] = row.output_tokens
        digest = _NO_DIGEST if row.digest is None else bytes.fromhex(row.digest)
        self._digests[place * _DIGEST_BYTES : (place + 1) * _DIGEST_BYTES] = digest


class BilledAttempts:
    """Attempts that may be on the bill, in their order."""

    def __init__(self) -> None:
        self._samples: list[str] = []
        self._repetitions = array("Q")
        self._usages = Numbers(5)
        self._flags = bytearray()

    def __len__(self) -> int:
        return len(self._samples)

    def __iter__(self) -> Iterator[BilledAttempt]:
        for place, (sample, repetition, flags) in enumerate(
            zip(self._samples, self._repetitions, self._flags, strict=True)
        ):
            usage = Usage(*self._usages.row(place))  # type: ignore[arg-type]
            yield BilledAttempt((sample, repetition), usage, bool(flags & 1), bool(flags & 2))

    def add(self, key: Key, attempts: Iterable[BilledAttempt]) -> None:
        """Put the attempts of one record at the end; their unit is the key's."""
        for attempt in attempts:
            usage = attempt.usage
            self._usages.put(len(self), (usage.input, usage.output, usage.cached, usage.reasoning, usage.cost_usd))
            self._samples.append(key[1])
            self._repetitions.append(key[2])
            self._flags.append(attempt.useful | attempt.retried << 1)

    def by_sample(self) -> Counter[str]:
        """How many attempts there are of each sample."""
        return Counter(self._samples)


class Claims:
    """Two whole numbers by key, in the order in which keys came: what a vendor reports of tokens."""

    def __init__(self) -> None:
        self._places: dict[Key, int] = {}
        self._pairs = array("q")

    def __iter__(self) -> Iterator[tuple[str, int, int]]:
        """Samples and their numbers."""
        pairs = self._pairs
        return ((key[1], pairs[2 * place], pairs[2 * place + 1]) for key, place in self._places.items())

    def put(self, key: Key, one: int, other: int) -> None:
        """Keep these under ``key``."""
        place = self._places.setdefault(key, len(self._places))
        self._pairs[2 * place : 2 * place + 2] = array("q", (one, other))
