"""Header fields as the parser found them, read as headers."""

from __future__ import annotations

import pytest

from vendor_verifier.transport.header_fields import headers_of


@pytest.mark.parametrize(
    ("fields", "headers"),
    [
        ([], {}),
        ([(b"Content-Type", b"text/plain"), (b"Server", b"x")], {"content-type": "text/plain", "server": "x"}),
        ([(b"Via", b"1"), (b"A", b"2"), (b"VIA", b"3")], {"via": "1, 3", "a": "2"}),
        ([(b"A", "é".encode()), (b"B", b"\xe9")], {"a": "é", "b": "é"}),
        ([(b"A", b"1\n2"), (b"B", b"3")], {"a": "1\n2", "b": "3"}),
        ([(b"A\nB", b"1\n2"), (b"C", b"3")], {"a\nb": "1\n2", "c": "3"}),
    ],
    ids=["none", "two", "one name twice", "not UTF-8", "a line feed", "line feeds in both"],
)
def test_names_are_lower_and_values_of_one_name_stand_together(
    fields: list[tuple[bytes, bytes]], headers: dict[str, str]
) -> None:
    """What is no UTF-8 is read as Latin-1, which spells every byte, and no other field is the worse for it."""
    assert headers_of(fields) == headers
