"""What a run does not use it does not load, and what is named is found."""

from __future__ import annotations

import pytest
from scored import bare_run

import vendor_verifier
from vendor_verifier.cli.commands import COMMANDS
from vendor_verifier.lazy_import import late, registered
from vendor_verifier.pipeline.suites import SuiteHooks
from vendor_verifier.records.results import Report
from vendor_verifier.reports import REPORTS
from vendor_verifier.suites import SUITES


def test_every_named_thing_is_there() -> None:
    """No name in a list of evaluations, reports, commands or the package points nowhere."""
    for kind in SUITES:
        assert callable(kind.build)
        assert kind.dataset is None or isinstance(kind.dataset, str) or kind.dataset()
        assert kind.options is None or isinstance(kind.options, type)
    assert all(render(bare_run(Report(run="x"))) for render in REPORTS.values())
    assert all(getattr(vendor_verifier, name) for name in vendor_verifier.__all__)
    assert all(callable(late(place)) for place in (f"vendor_verifier.{each.target}" for each in COMMANDS.values()))
    assert all(issubclass(late(kind.hooks), SuiteHooks) for kind in SUITES if kind.hooks is not None)
    seams = ("known answers", "serving a run", "file of the history", "remembering a run")
    assert all(registered(seam) for seam in seams)
    with pytest.raises(LookupError):
        registered("nothing")
