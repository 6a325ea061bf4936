"""Every simulated vendor's vice is found and named by its finding; the faithful twin beside it has none."""

from __future__ import annotations

from pathlib import Path

import pytest
from persona_records import MODEL, Vendor, run_folder
from questions import CLOCK, WEATHER

from vendor_verifier.features.simulate.personas import PERSONAS
from vendor_verifier.pipeline.score import score_folder
from vendor_verifier.values.request import Turn
from vendor_verifier.values.sample import Sample

# What is wrong with whom, in the findings' names. Those that give way under load are asked twelve at a time.
DEFECTS = {
    "faithful": set(),
    "quantised": {"calls_unlike_baseline", "calls_invalid"},
    "padded": {"prompt_tokens_slope"},
    "slow": {"slow_first_token", "slow_decoding"},
    "bursty": {"refused_at_first"},
    "cutter": {"answers_cut"},
    "buffering": {"stream_buffered", "slow_first_token"},
    "text-leaker": {"calls_in_text", "calls_unlike_baseline"},
    "substitute": {"another_model_served", "calls_unlike_baseline"},
    "down": {"nothing_answered"},
    "locked": {"access_refused"},
    "crowded": {"calls_unlike_baseline"},
    "queueing": {"slow_first_token"},
    "throttled": {"nothing_answered"},
    "mixture": {"answers_unlike_baseline", "calls_unlike_baseline"},
    "switching": {"answers_unlike_baseline", "calls_unlike_baseline"},
    "inflated": {"output_tokens_inflated"},
    "fake-stream": {"stream_faked", "slow_first_token"},
    "upstream-retries": {"first_token_late_at_times"},
    "cold": {"answers_too_like_baseline"},
    "hot": {"answers_unlike_baseline"},
    "caching": {"answers_repeated"},
    "long-cutter": {"answers_unlike_baseline", "calls_unlike_baseline"},
    # Too faint for so few answers: the probes of the suite probes find it.
    "four-bit": set(),
    # Only that suite asks for log-probabilities.
    "logprob-inventor": set(),
    "no-logprobs": set(),
    "recogniser": {"answers_unlike_baseline", "calls_unlike_baseline"},
    "probe-recogniser": {"answers_unlike_baseline", "calls_unlike_baseline"},
}
# Those whose answers are compared are asked with a temperature, so that an honest vendor varies, too.
SAMPLED = frozenset(
    {
        "mixture",
        "switching",
        "inflated",
        "fake-stream",
        "upstream-retries",
        "cold",
        "hot",
        "caching",
        "long-cutter",
        "four-bit",
        "recogniser",
        "probe-recogniser",
    }
)
UNDER_LOAD = 12


def samples(count: int = 200, **parameters: float) -> list[Sample]:
    """Questions of different lengths about weather and time, neighbours unlike, as a run's order makes them."""
    texts = (f"How is the weather in town {number}? {'Please. ' * (number * 7 % 40)}" for number in range(count))
    turns = (Turn(({"role": "user", "content": text},), (WEATHER, CLOCK), parameters) for text in texts)
    return [Sample(f"s{number}", turn) for number, turn in enumerate(turns)]


def test_every_persona_is_here() -> None:
    """So that a new vice comes with the name by which it is found."""
    assert DEFECTS.keys() == PERSONAS.keys()


@pytest.mark.parametrize("persona", DEFECTS)
def test_a_personas_defect_is_named_and_its_twin_is_clear(persona: str, tmp_path: Path) -> None:
    """Exactly the findings of its vice, on the vendor that has it, from records as a run writes them."""
    vendors = [
        Vendor("official", PERSONAS["faithful"], repeat=2),
        Vendor("twin", PERSONAS["faithful"]),
        Vendor("suspect", PERSONAS[persona].among(UNDER_LOAD), repeat=2 if persona == "caching" else 1),
    ]
    asked = samples(400, temperature=1.3) if persona in SAMPLED else samples()
    report = score_folder(run_folder(tmp_path / "run", vendors, asked))
    found = report.verdicts[MODEL].findings
    assert {each.name for each in found if each.label == "suspect"} == DEFECTS[persona]
    assert not [each for each in found if "twin" in (each.label, each.evidence.get("other"))]
