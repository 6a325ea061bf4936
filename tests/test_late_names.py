"""What the package keeps as text and loads when it is asked for exists."""

import pytest

import vendor_verifier
from vendor_verifier.cli.main import COMMANDS
from vendor_verifier.lazy_import import late
from vendor_verifier.reports import REPORTS, ReportFormat
from vendor_verifier.suites import SUITES, SuiteKind


@pytest.mark.parametrize("form", REPORTS, ids=lambda form: form.name)
def test_every_format_of_a_report_has_its_renderer(form: ReportFormat) -> None:
    assert callable(form.render)


@pytest.mark.parametrize("kind", SUITES, ids=lambda kind: kind.name)
def test_every_evaluation_has_its_builder_options_and_samples(kind: SuiteKind) -> None:
    assert callable(kind.build)
    assert kind.options is None or isinstance(kind.options, type)
    assert kind.dataset is None or isinstance(kind.dataset, str) or kind.dataset()


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_its_function(command: str) -> None:
    assert callable(late(COMMANDS[command][0]))


@pytest.mark.parametrize("name", vendor_verifier.__all__)
def test_every_public_name_can_be_had(name: str) -> None:
    assert getattr(vendor_verifier, name) is not None
