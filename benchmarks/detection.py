"""Counts how often the vice of each simulated vendor is found, and how often an honest vendor beside it is accused.

In each run made-up questions are asked of an honest baseline twice, of an honest twin and of the vendor with the vice,
without a socket or a clock (``tests/support/persona_records.py``). Records, scoring and verdict are the product's own.
Everything is a function of the seeds.

python benchmarks/detection.py                            20 runs of 315 questions for each vendor (some ten minutes)
python benchmarks/detection.py --runs 2 --samples 150     fewer and smaller ones
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import tempfile
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from itertools import repeat
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "tests" / "support"))

from persona_records import Vendor, run_folder  # noqa: E402
from stories import told  # noqa: E402

from vendor_verifier.features.simulate.personas import PERSONAS  # noqa: E402
from vendor_verifier.pipeline.score import score_folder  # noqa: E402
from vendor_verifier.records.request import Turn  # noqa: E402
from vendor_verifier.records.sample import Sample  # noqa: E402

_FACETS = ("model", "tool calls", "bill", "reliability", "speed")
_PLACE = {"type": "object", "properties": {"place": {"type": "string"}, "days": {"type": "integer", "maximum": 7}}}
_TOOL = {"type": "function", "function": {"name": "look_up", "parameters": {**_PLACE, "required": ["place", "days"]}}}


def questions(count: int, seed: int) -> list[Sample]:
    """Questions of a few words to a few hundred, four fifths of them with a tool."""
    dice = random.Random(f"questions {count} {seed}")  # noqa: S311 no cryptography
    syllables = [first + second for first in "aeiou" for second in "bcdfglmnprst"]
    words = ["".join(dice.choices(syllables, k=dice.randint(1, 5))) for _ in range(200)]
    made = []
    for number in range(count):
        text = f"{number} {' '.join(dice.choices(words, k=dice.randint(8, 68)))}"
        turn = Turn(({"role": "user", "content": text},), (_TOOL,) if dice.random() < 0.8 else ())
        made.append(Sample(f"q{number}", turn))
    return made


def run(persona: str, samples: int, seed: int) -> dict[str, dict[str, str]]:
    """The words on the vendor ``suspect`` and on its honest ``twin``: verdict and facets."""
    vendors = [
        Vendor("official", "faithful", repeat=2, seed=seed),
        Vendor("twin", "faithful", seed=seed),
        Vendor("suspect", persona, seed=seed, crowded=True),
    ]
    with tempfile.TemporaryDirectory() as place:
        folder = run_folder(Path(place) / "run", vendors, questions(samples, seed))
        words = told(score_folder(folder), folder).matrix
    return {label: dict(words[label]) for label in ("suspect", "twin")}


def main() -> int:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=20, help="Runs of each vendor.")
    parser.add_argument("--samples", type=int, default=315, help="Questions of a run.")
    parser.add_argument("--seed", type=int, default=20_000, help="Seed of the first run.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="Processes at once.")
    said = parser.parse_args()
    print(
        f"| Vendor | Verdicts of {said.runs} | Facets that are not as sold | Verdicts on the twin |\n|---|---|---|---|"
    )
    with ProcessPoolExecutor(said.jobs) as pool:
        for persona in PERSONAS:
            seeds = range(said.seed, said.seed + said.runs)
            found = list(pool.map(run, repeat(persona), repeat(said.samples), seeds))
            words = [(facet, each["suspect"][facet]) for each in found for facet in _FACETS]
            blemishes = Counter(f"{facet}: {word}" for facet, word in words if word != "as sold")
            verdicts = [Counter(each[label]["verdict"] for each in found) for label in ("suspect", "twin")]
            cells = [", ".join(f"{word} {count}" for word, count in each.most_common()) for each in
                     (verdicts[0], blemishes, verdicts[1])]  # fmt: skip
            print(f"| {persona} | {' | '.join(cells)} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
