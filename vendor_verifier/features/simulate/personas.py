"""The simulated vendors' personas: each is an honest vendor but for the traits it names.

Rates are shares of 0..1 of the questions (or calls, where stated) that show the trait.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import structs

# Another model decides otherwise on so many questions.
_OTHER_DECISIONS = 0.15


class Persona(msgspec.Struct, frozen=True):
    """The traits of one simulated vendor; the defaults are those of an honest one.

    ``miss_rate``: calls not made; ``false_rate``: calls made where none was due; ``flip_rate``: decision reversed;
    ``break_rate``: of calls, arguments or name spoilt; ``leak_rate``: of calling answers, markup in text instead of
    calls; ``cut_rate``: answers cut off; ``burst_rate``: questions refused at first; ``refusal``: status given to
    everything. ``mind`` and ``served_model`` name the model that really answers, where it is not the one asked for.
    Times are drawn per question: first token within ``first_token_s``, then ``tokens_per_s``. ``room`` is how many
    requests in flight it serves like that; a request beyond is answered with the ``crowd`` traits: another miss rate, a
    refusal, or a first token later by ``crowd_wait_s`` for each request too many.

    ``output_factor``: output tokens billed ÷ said; ``piece_gap_s``: all is generated first, then sent in even pieces so
    far apart; ``retry_rate``: first tokens that come six times later or more; ``temperature_factor``: temperature used
    ÷ asked for; ``caches``: its first answer again to a question that is repeated; ``mix_rate``: questions that go to
    another model; ``switch_after``: number of requests from which all do; ``prompt_room``: characters heard of each
    message; ``recognises``: every question that is none of the shipped samples goes to another model; ``divergence``:
    mean Kullback–Leibler divergence per token of its distributions from the model's; ``is_honest_to_probes``: another
    model answers, but for questions that ask for one token. ``logprobs`` are given as the model has them, as numbers
    made up, or not at all: a request for them is refused.
    """

    name: str
    description: str
    first_token_s: tuple[float, float] = (0.015, 0.030)
    tokens_per_s: float = 600.0
    miss_rate: float = 0.0
    false_rate: float = 0.0
    flip_rate: float = 0.0
    break_rate: float = 0.0
    leak_rate: float = 0.0
    cut_rate: float = 0.0
    burst_rate: float = 0.0
    refusal: int | None = None
    buffers: bool = False
    prompt_factor: float = 1.0
    prompt_extra: int = 0
    mind: str = ""
    served_model: str | None = None
    fingerprint: str | None = "fp_5a11e7c0de"
    answer_prefix: str = "chatcmpl-"
    call_prefix: str = "call_"
    room: int | None = None
    crowd_miss_rate: float | None = None
    crowd_refusal: int | None = None
    crowd_wait_s: float = 0.0
    output_factor: float = 1.0
    piece_gap_s: tuple[float, float] | None = None
    retry_rate: float = 0.0
    temperature_factor: float = 1.0
    caches: bool = False
    mix_rate: float = 0.0
    switch_after: int | None = None
    prompt_room: int | None = None
    recognises: bool = False
    divergence: float = 0.0
    is_honest_to_probes: bool = False
    logprobs: Literal["true", "invented", "refused"] = "true"

    def with_another_model(self) -> Persona:
        """The same vendor with another model behind its name."""
        return structs.replace(self, mind="mini", flip_rate=_OTHER_DECISIONS)

    def after(self, served: int) -> Persona:
        """The persona for the request that is number ``served`` of those it was sent."""
        return self if self.switch_after is None or served <= self.switch_after else self.with_another_model()

    def among(self, in_flight: int) -> Persona:
        """The persona for a request that is one of ``in_flight``, itself included."""
        if self.room is None or in_flight <= self.room:
            return self
        late_s = self.crowd_wait_s * (in_flight - self.room)
        return structs.replace(
            self,
            miss_rate=self.miss_rate if self.crowd_miss_rate is None else self.crowd_miss_rate,
            refusal=self.crowd_refusal,
            first_token_s=(self.first_token_s[0] + late_s, self.first_token_s[1] + late_s),
        )


_ALL = (
    Persona("faithful", "serves the model it sells, quickly and in full"),
    Persona(
        "quantised",
        "misses about 12 % of the calls, makes a few that are not due, spoils about 8 % of them",
        tokens_per_s=650.0,
        miss_rate=0.12,
        false_rate=0.06,
        break_rate=0.08,
    ),
    Persona(
        "padded",
        "bills 35 % more prompt tokens than were sent, and 120 on top of each request",
        prompt_factor=1.35,
        prompt_extra=120,
    ),
    Persona("slow", "the right answers, late and slowly", first_token_s=(0.060, 0.090), tokens_per_s=250.0),
    Persona("bursty", "refuses a fifth of the requests at first: 429 with a retry hint, 503, 500", burst_rate=0.20),
    Persona("cutter", "cuts about 10 % of its answers off in the middle: ended early, closed or reset", cut_rate=0.10),
    Persona("buffering", "waits until all is generated, then sends the whole stream at once", buffers=True),
    Persona("text-leaker", "writes half of its tool calls into the text, as raw markup", leak_rate=0.5),
    Persona(
        "substitute",
        "answers with another model under another name: 15 % of the trigger decisions differ",
        first_token_s=(0.012, 0.022),
        tokens_per_s=750.0,
        flip_rate=_OTHER_DECISIONS,
        mind="mini",
        served_model="simulated-mini-8b",
        fingerprint="fp_0ddba11b0b",
        answer_prefix="gen-",
        call_prefix="chatcmpl-tool-",
    ),
    Persona("down", "answers 500 to everything", refusal=500),
    Persona("locked", "answers 401 to everything: no key is good enough", refusal=401),
    Persona("crowded", "misses 60 % of the calls once more than 6 are in flight", room=6, crowd_miss_rate=0.6),
    Persona("queueing", "0.4 s later for each request beyond 6 in flight", room=6, crowd_wait_s=0.4),
    Persona("throttled", "answers 429 to every request beyond 6 in flight", room=6, crowd_refusal=429),
    Persona("mixture", "sends a fifth of the questions to another model, under the same name", mix_rate=0.2),
    Persona("switching", "another model under the same name from its 101st request on", switch_after=100),
    Persona("inflated", "bills 8 % more output tokens than it said", output_factor=1.08),
    Persona(
        "fake-stream",
        "waits until all is generated, then streams it in even pieces, 1.5 to 5 ms apart",
        tokens_per_s=250.0,
        piece_gap_s=(0.0015, 0.005),
    ),
    Persona("upstream-retries", "3 % of the first tokens come six times later or more", retry_rate=0.03),
    Persona("cold", "ignores the temperature: always its most likely answer", temperature_factor=0.0),
    Persona("hot", "samples at two and a half times the temperature asked for", temperature_factor=2.5),
    Persona("caching", "gives its first answer again to whoever repeats a question", caches=True),
    Persona("recogniser", "answers published questions itself and sends all others to another model", recognises=True),
    Persona("four-bit", "its probabilities are a little off, as of weights in four bits", divergence=0.03),
    Persona(
        "probe-recogniser",
        "another model under the same name, but for questions that ask for one token",
        flip_rate=_OTHER_DECISIONS,
        mind="mini",
        is_honest_to_probes=True,
    ),
    Persona("logprob-inventor", "states one log-probability for every token", logprobs="invented"),
    Persona("no-logprobs", "answers 400 to whoever asks for log-probabilities", logprobs="refused"),
    Persona("long-cutter", "hears the last 240 characters of each message and bills them all", prompt_room=240),
)

PERSONAS: Mapping[str, Persona] = {persona.name: persona for persona in _ALL}
