"""Write the table of docs/judgement.md on the answers test: how often it is wrong, and how often it sees what is there.

Honest vendors answer as the baseline does, drawn from the same answers by question. Every run counts as wrong that
names any of its vendors. Real result files are taken from ../shared/data/llmvv where that folder is there; else their
rows stay as they are. All is a function of the seeds.

python scripts/make_answers_table.py               write the table (some ten minutes)
python scripts/make_answers_table.py --runs 50     print it from so few runs, and write nothing
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from vendor_verifier.audit.answers import BUDGET, compared_texts
from vendor_verifier.pipeline.import_results import import_run
from vendor_verifier.scoring.answer_texts import AnswerTexts
from vendor_verifier.scoring.observation import observe
from vendor_verifier.stats.answers_test import holm, leanings, odd_one_out
from vendor_verifier.store import RunFolder
from vendor_verifier.values.sample import listed
from vendor_verifier.values.score import PlayedTask, Score

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "judgement.md"
LLMVV = ROOT.parent / "shared" / "data" / "llmvv"
BEGIN, END = "<!-- answers: begin -->\n", "<!-- answers: end -->\n"
QUESTIONS = (20, 50, 200)
VENDORS = (1, 3, 9)
# How evenly a model spreads over the six answers it has to a question (Dirichlet): half of its answers are alike at
# the first, nearly all at the second.
SPREADS = {"half of its answers alike": 0.5, "nearly deterministic": 0.04}
RUNS = 2_000
# None below this was looked at while the test was made.
FIRST_SEED = 40_000
_ANSWERS = 6
_OTHER = "a fifth of the questions go to another model"
_HOSTS = {"novita": "openrouter-novita-deepseek-v3.2-exp", "ppio": "ppio-deepseek-v3.2-exp"}
_OFFICIAL = ("deepseek-official-deepseek-v3.2-exp", "deepseek-official-deepseek-chat")
_MODEL = "deepseek-v3.2"


def world(
    rng: np.random.Generator, n: int, vendors: int, spread: float, mixed: float = 0.0
) -> list[NDArray[np.float64]]:
    """The leanings of every vendor over ``n`` questions; ``mixed`` of its answers are another model's."""
    chances = rng.dirichlet(np.full(_ANSWERS, spread), n)
    alike = rng.beta(1.0, 1.5, (n, 2 * _ANSWERS, 2 * _ANSWERS))
    alike = (alike + alike.transpose(0, 2, 1)) / 2
    alike[:, np.arange(2 * _ANSWERS), np.arange(2 * _ANSWERS)] = 1
    drawn = (rng.random((n, vendors + 2, 1)) > chances.cumsum(axis=1)[:, None, :-1]).sum(axis=2)
    drawn[:, 2:] += _ANSWERS * (rng.random((n, vendors)) < mixed)
    row, one, other = np.arange(n), drawn[:, 0], drawn[:, 1]
    base = alike[row, one, other]
    found = []
    for own in drawn[:, 2:].T:
        with_one, with_other = alike[row, own, one], alike[row, own, other]
        leaning = (
            base - (with_one + with_other) / 2,
            with_other - (base + with_one) / 2,
            with_one - (base + with_other) / 2,
        )
        found.append(np.stack(leaning, axis=1))
    return found


def named(rows: Sequence[NDArray[np.float64]], rng: np.random.Generator) -> bool:
    """Whether a run with these vendors names any of them."""
    tests = [test for each in rows if (test := odd_one_out(each, rng)) is not None]
    return min(holm([test.p_value for test in tests]), default=1.0) <= BUDGET


def share(n: int, vendors: int, spread: float, runs: int, mixed: float = 0.0, first_seed: int = FIRST_SEED) -> float:
    """The share of runs that name a vendor."""
    hits = 0
    for seed in range(first_seed, first_seed + runs):
        rng = np.random.default_rng([seed, n, vendors])
        hits += named(world(rng, n, vendors, spread, mixed), rng)
    return hits / runs


def real_leanings() -> dict[str, NDArray[np.float64]]:
    """The leanings of the real hosts, one row a question that all sides answered."""
    files = {"official": _OFFICIAL, **{label: (name,) for label, name in _HOSTS.items()}}
    paths = {label: [LLMVV / f"results-{name}.jsonl.gz" for name in names] for label, names in files.items()}
    with tempfile.TemporaryDirectory() as place:
        import_run(paths, baseline="official", model=_MODEL, output_dir=Path(place) / "run")
        folder = RunFolder(Path(place) / "run")
        samples = folder.read_samples("trigger")
        by_id = {sample.id: sample for sample in samples}
        texts = AnswerTexts.of([PlayedTask("trigger", listed(samples))])
        for record in folder.read_records(lambda _line, _reason: None):
            sample = by_id[record.sample]
            texts.take(record, sample, observe(record, Score("trigger"), sample))
    kept = {label: texts.kept[_MODEL, label] for label in files}
    return {label: leanings(compared_texts(kept[label], kept["official"])) for label in _HOSTS}


def found_share(rows: NDArray[np.float64], n: int, draws: int, seed: int = FIRST_SEED) -> float:
    """How often ``n`` questions drawn from these rows, of a run with that vendor alone, name it."""
    rng = np.random.default_rng([seed, n])
    return sum(named([rows[rng.choice(len(rows), n, replace=False)]], rng) for _ in range(draws)) / draws


class Cell(NamedTuple):
    """One cell of the table: its row's head, and the arguments of :func:`share`."""

    head: str
    n: int
    vendors: int
    spread: float
    runs: int
    mixed: float = 0.0


def cells(runs: int) -> Iterator[Cell]:
    """The cells, row by row."""
    for name, spread in SPREADS.items():
        for vendors in VENDORS:
            head = f"{vendors} honest, {name}: any named"
            yield from (Cell(head, n, vendors, spread, runs) for n in QUESTIONS)
    yield from (Cell(f"1, {_OTHER}: named", n, 1, 0.5, max(1, runs // 10), 0.2) for n in QUESTIONS)


def measured(cell: Cell) -> float:
    """The cell's share."""
    return share(*cell[1:])


def table(runs: int, jobs: int) -> Iterator[str]:
    """The lines of the table in Markdown."""
    yield f"| Vendors | {' | '.join(f'n = {n}' for n in QUESTIONS)} |"
    yield "|---|" + "---|" * len(QUESTIONS)
    asked = list(cells(runs))
    with ProcessPoolExecutor(jobs) as pool:
        shares = list(pool.map(measured, asked))
    rows: dict[str, list[str]] = {}
    for cell, found in zip(asked, shares, strict=True):
        rows.setdefault(cell.head, []).append(f"{100 * found:.{0 if cell.mixed else 1}f} %")
    yield from (_row(head, found) for head, found in rows.items())
    yield from real_rows(max(1, runs // 10))


def real_rows(draws: int) -> list[str]:
    """The rows on real hosts; those of the page where the files are not here."""
    if not LLMVV.is_dir():
        before = TARGET.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
        return [line for line in before.splitlines() if line.startswith("| real host")]
    return [
        _row(f"real host {label} of DeepSeek V3.2 against its maker: named",
             [f"{100 * found_share(rows, n, draws):.0f} %" for n in QUESTIONS])
        for label, rows in real_leanings().items()
    ]  # fmt: skip


def _row(head: str, cells: Sequence[str]) -> str:
    return f"| {head} | {' | '.join(cells)} |"


def main() -> int:
    """Measure, and write or print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, help="So many runs of each cell; prints instead of writing.")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="Processes at once.")
    said = parser.parse_args()
    made = "\n".join(table(said.runs or RUNS, said.jobs)) + "\n"
    if said.runs is not None:
        sys.stdout.write(made)
        return 0
    before, _, rest = TARGET.read_text(encoding="utf-8").partition(BEGIN)
    TARGET.write_text(f"{before}{BEGIN}{made}{END}{rest.partition(END)[2]}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
