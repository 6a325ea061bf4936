"""Finds rows on which upstream's checker would crash or nobody could pass, before anyone is asked; judges no vendor."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from vendor_verifier.errors import DataError
from vendor_verifier.suites.bfcl.categories import is_relevance, language_of
from vendor_verifier.suites.bfcl.checker import check
from vendor_verifier.suites.bfcl.one_call import expected_arguments, read_document
from vendor_verifier.suites.bfcl.parallel import document_named
from vendor_verifier.suites.bfcl.reference_calls import reference_calls
from vendor_verifier.suites.bfcl.type_check import expected_type, written_type


def row_problem(expected: Mapping[str, Any]) -> str | None:
    """Why a single-turn row cannot be checked, in a sentence, or None when it can."""
    category = str(expected["category"])
    if is_relevance(category):
        return None
    try:
        _check_row(expected, category)
    except DataError as error:
        return error.problems[0].message
    return None


def unreachable(expected: Mapping[str, Any]) -> str | None:
    """Why even the row's own answers fail it, or None. For rows without a :func:`row_problem`."""
    category = str(expected["category"])
    if is_relevance(category):
        return None
    calls = [{name: arguments} for name, arguments in reference_calls(expected)]
    functions, answer = list(expected["functions"]), expected.get("answer")
    verdict = check(functions, calls, answer, category=category, language=language_of(category))
    return None if verdict.valid else f"{verdict.error_type}: {'; '.join(verdict.error)}"[:300]


def _check_row(expected: Mapping[str, Any], category: str) -> None:
    language, functions = language_of(category), expected["functions"]
    for function in functions:
        document = read_document(function)
        for parameter, details in document.properties.items():
            expected_type(parameter, details, language)
    for answer in expected.get("answer") or ():
        name, accepted = expected_arguments(answer)
        if "parallel" in category or "multiple" in category:
            document_named(functions, name)
        for options in accepted.values():
            written_type(options)
    # The first call's rules decide which document and answer are taken, and whether there are any.
    check(functions, [], expected.get("answer"), category=category, language=language)
