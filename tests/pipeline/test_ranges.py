"""Numbers that no run can be made with are refused, by flag and from a program, before anything is made."""

from __future__ import annotations

from typing import Any

import pytest

from vendor_verifier.cli.main import run_app
from vendor_verifier.config.run_config import run_options
from vendor_verifier.errors import ProblemsError

INF, NAN = float("inf"), float("nan")
ENDLESS = ("timeout", "connect_timeout", "first_token_timeout", "idle_timeout", "max_cost", "duration", "ramp_up")


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_number_is_refused_on_the_command_line(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    """A manifest cannot hold it, so it is a usage error and no defect of ours."""
    assert run_app(["--set", f"run.{name}=inf"]) == 2
    assert f"--set run.{name}: " in capsys.readouterr().err


@pytest.mark.parametrize(
    ("said", "keys"),
    [
        ({"timeout": INF, "max_cost": NAN}, ["--timeout", "--max-cost"]),
        ({"timeout": -1.0}, ["--timeout"]),
        ({"repeat": 0, "retries": -1, "max_requests": 0}, ["--repeat", "--retries", "--max-requests"]),
    ],
)
def test_a_program_is_held_to_the_ranges_of_the_flags(said: dict[str, Any], keys: list[str]) -> None:
    """Else ``verify(timeout=-1)`` would let every vendor time out; all are told at once."""
    with pytest.raises(ProblemsError) as caught:
        run_options(**said)
    assert sorted(problem.key or "" for problem in caught.value.problems) == sorted(keys)
