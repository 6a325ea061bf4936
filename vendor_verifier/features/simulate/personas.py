"""The simulated vendors: each is an honest vendor except for the traits it names."""

from __future__ import annotations

from dataclasses import dataclass

ROOM = 6  # requests in flight that a persona with a ``crowd`` serves without its traits


@dataclass(frozen=True, slots=True)
class Persona:
    """The traits of one vendor; the defaults are those of an honest one. Rates are shares (0..1) of the questions.

    ``false_rate``: calls that are not due; ``flip_rate``: decisions reversed; ``burst_rate``: refused at first.
    ``rewrites``: a word in the calls it passes on becomes another; ``reads``: how many characters of a prompt.
    ``mind`` and ``served_model``: the other model that answers. ``crowd`` answers requests beyond ``ROOM`` in flight,
    ``wait_s`` later for each of these.
    """

    description: str
    # Long next to the lateness of a busy machine, which is a few milliseconds.
    first_token_s: tuple[float, float] = (0.100, 0.150)
    tokens_per_s: float = 600
    miss_rate: float = 0
    false_rate: float = 0
    flip_rate: float = 0
    break_rate: float = 0
    leak_rate: float = 0
    cut_rate: float = 0
    burst_rate: float = 0
    refusal: int | None = None
    buffers: bool = False
    prompt_factor: float = 1
    prompt_extra: int = 0
    mind: str = ""
    served_model: str | None = None
    rewrites: tuple[str, str] | None = None
    reads: int | None = None
    caches: bool = False
    crowd: Persona | None = None
    wait_s: float = 0


PERSONAS = {
    "faithful": Persona("serves the model it sells"),
    "quantised": Persona("misses, invents and breaks calls", miss_rate=0.12, false_rate=0.06, break_rate=0.08),
    "padded": Persona("bills 35 % more prompt tokens, and 120 a request", prompt_factor=1.35, prompt_extra=120),
    "slow": Persona("late first token, few tokens a second", first_token_s=(0.300, 0.450), tokens_per_s=250),
    "bursty": Persona("refuses 20 % of the questions at first, with 429, 503 or 500", burst_rate=0.20),
    "cutter": Persona("cuts 10 % of its answers off", cut_rate=0.10),
    "buffering": Persona("sends the whole stream at its end", buffers=True),
    "text-leaker": Persona("writes half of its tool calls into the text", leak_rate=0.5),
    "substitute": Persona("other model", (0.08, 0.12), 750, flip_rate=0.15, mind="8", served_model="simulated-mini-8b"),
    "rewriter": Persona("changes a package name in tool calls", rewrites=("requests", "reqeusts")),
    "cut-8k": Persona("reads the last 32,000 characters of a prompt, some 8,000 tokens", reads=32_000),
    "caching": Persona("bills prompts that it saw before as cached", caches=True),
    "down": Persona("answers 500 to everything", refusal=500),
    "locked": Persona("answers 401 to everything", refusal=401),
    "crowded": Persona("misses 60 % of the calls beyond 6 requests in flight", crowd=Persona("", miss_rate=0.6)),
    "queueing": Persona("0.4 s later for each request beyond 6 in flight", crowd=Persona("", wait_s=0.4)),
    "throttled": Persona("answers 429 to requests beyond 6 in flight", crowd=Persona("", refusal=429)),
}
