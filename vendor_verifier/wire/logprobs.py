"""Reads the log-probabilities that a vendor states for the first token of its answer, in the shapes they come in.

Anything may stand there: of nonsense nothing is read, and of a long list only its beginning.
"""

from __future__ import annotations

from collections.abc import Iterable

from vendor_verifier.values.event import MAX_LOGPROBS, MAX_NUMBER, FirstLogprobs, TokenLogprob
from vendor_verifier.wire.payload import as_dict, as_list, as_text, well_formed

# More characters than a token has.
MAX_TOKEN = 64


def chat_logprobs(value: object) -> FirstLogprobs | None:
    """Those in the ``logprobs`` of a choice of chat completions; None where it has none.

    Hosts that kept the form of raw completions give a list of objects, each from token to logarithm.
    """
    logprobs = as_dict(value)
    content = as_list(logprobs.get("content"))
    if content:
        listed = [as_dict(each) for each in as_list(as_dict(content[0]).get("top_logprobs"))[:MAX_LOGPROBS]]
        return _first((each.get("token"), each.get("logprob")) for each in listed)
    raw = as_list(logprobs.get("top_logprobs"))
    return _first(list(as_dict(raw[0]).items())[:MAX_LOGPROBS]) if raw else None


def gemini_logprobs(value: object) -> FirstLogprobs | None:
    """Those in the ``logprobsResult`` of one of Gemini's candidates; None where it has none."""
    places = as_list(as_dict(value).get("topCandidates"))
    if not places:
        return None
    listed = [as_dict(each) for each in as_list(as_dict(places[0]).get("candidates"))[:MAX_LOGPROBS]]
    return _first((each.get("token"), each.get("logProbability")) for each in listed)


def _first(listed: Iterable[tuple[object, object]]) -> FirstLogprobs | None:
    """The pairs of a token and a number; of a token listed twice the first counts."""
    found: dict[str, float] = {}
    for token, number in listed:
        text = as_text(token)
        if text is None or isinstance(number, bool) or not isinstance(number, (int, float)):
            continue
        if -MAX_NUMBER <= number <= MAX_NUMBER:
            found.setdefault(well_formed(text[:MAX_TOKEN]), float(number))
    tokens = tuple(TokenLogprob(token, logprob) for token, logprob in found.items())
    return FirstLogprobs(tokens) if tokens else None
