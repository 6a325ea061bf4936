"""Reads the gates and SLOs of the config and of the command line; all that cannot be read is reported at once."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import replace

from msgspec import structs

from vendor_verifier.config.load import StatedGate
from vendor_verifier.config.suite_options import known_suite
from vendor_verifier.errors import Problem, ProblemsError, UsageError
from vendor_verifier.findings.gates import Gate, parse_gate, parse_slo
from vendor_verifier.records.manifest import ScoreRequest


def read_gates(texts: Sequence[str], suites: Collection[str]) -> tuple[Gate, ...]:
    """The gates in ``texts``, or of the presets named there; ``suites`` are evaluations whose scores may be named.

    Where two limit the same figure on the same side, the later one applies: a model's own replaces that of all models.

    Raises:
        ProblemsError: all that do not follow the grammar.
    """
    found, problems = _read((), texts, "gates", lambda text: parse_gate(text, suites))
    if problems:
        raise ProblemsError(problems)
    return tuple({(gate.subject, gate.comparison): gate for gate in found}.values())


def read_slos(texts: Sequence[str]) -> tuple[Gate, ...]:
    """The SLOs in ``texts``, each once.

    Raises:
        ProblemsError: all that do not follow the grammar or are not about one request.
    """
    found, problems = _read((), texts, "slos", lambda text: [parse_slo(text)])
    if problems:
        raise ProblemsError(problems)
    return tuple(dict.fromkeys(found))


def with_stated(typed: ScoreRequest, gates: Sequence[StatedGate], slos: Sequence[StatedGate]) -> ScoreRequest:
    """``typed`` with the config's gates and SLOs before its own; a model's own gates come between both."""
    everybody = [gate.text for gate in gates if gate.model is None]
    own = {
        model: (*everybody, *(gate.text for gate in gates if gate.model == model), *typed.gates)
        for model in dict.fromkeys(gate.model for gate in gates)
        if model is not None
    }
    return structs.replace(
        typed,
        gates=(*everybody, *typed.gates),
        model_gates=own,
        slos=(*(slo.text for slo in slos), *typed.slos),
    )


def check_conditions(
    typed: ScoreRequest, suites: Collection[str], gates: Sequence[StatedGate] = (), slos: Sequence[StatedGate] = ()
) -> None:
    """Check gates and SLOs of the config and of the command line, before anything is sent.

    Raises:
        ProblemsError: all of both kinds that do not follow the grammar, each with its place.
    """
    _, bad_gates = _read(gates, typed.gates, "--gate", lambda text: parse_gate(text, suites))
    _, bad_slos = _read(slos, typed.slos, "--slo", lambda text: [parse_slo(text)])
    if bad_gates or bad_slos:
        raise ProblemsError([*bad_gates, *bad_slos])


def check_rank_metrics(metrics: Sequence[str], suites: Collection[str]) -> None:
    """Check that every rank metric that is a suite's score belongs to a suite that takes part and has one.

    Raises:
        ProblemsError: with those that can.
    """
    able = [name for name in suites if known_suite(name).ranks_by is not None]
    for metric in metrics:
        if metric not in able:
            which = f"of this run's evaluations {', '.join(able)} can" if able else "no evaluation of this run has one"
            raise ProblemsError([Problem(f"{metric!r} is no score that can rank; {which}", key="run.rank_metric")])


def _read(
    stated: Sequence[StatedGate], typed: Sequence[str], flag: str, parse: Callable[[str], list[Gate]]
) -> tuple[list[Gate], list[Problem]]:
    """The gates or SLOs of the config and of the command line, and the problems of those that cannot be read."""
    found, problems = [], []
    for text, place in [*((one.text, one.place) for one in stated), *((text, Problem("", key=flag)) for text in typed)]:
        try:
            found += parse(text)
        except UsageError as error:
            problems.append(replace(place, message=str(error)))
    return found, problems
