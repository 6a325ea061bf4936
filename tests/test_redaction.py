"""No secret survives scrubbing, in any disguise, and nothing else is touched."""

from __future__ import annotations

import base64
import html
import json
import pickle
import urllib.parse
from collections.abc import Callable
from functools import partial

import pytest
from costs import assert_linear
from hypothesis import assume, example, given
from hypothesis import strategies as st

from vendor_verifier import redaction
from vendor_verifier.redaction import MASK, Scrubber

KEY = "sk-or-v1-0123456789abcdef+/="


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def code_points(text: str, form: str) -> str:
    return "".join(one if one.isalnum() or one in "-_.~" else form.format(ord(one)) for one in text)


DISGUISES: dict[str, Callable[[str], str]] = {
    "as it is": lambda secret: secret,
    "in a header": lambda secret: f"Authorization: Bearer {secret}\r\n",
    "url-encoded": lambda secret: "https://host/?key=" + urllib.parse.quote(secret, safe=""),
    "url path": lambda secret: "https://host/" + urllib.parse.quote(secret),
    "form-encoded": lambda secret: urllib.parse.urlencode({"key": secret}),
    "url-encoded in lower case": lambda secret: "".join(
        f"%{ord(one):02x}" if len(urllib.parse.quote(one, safe="")) == 3 else urllib.parse.quote(one, safe="")
        for one in secret
    ),
    "in JSON": lambda secret: json.dumps({"error": secret}, ensure_ascii=False),
    "in ASCII JSON": lambda secret: json.dumps({"error": secret}),
    "in JSON in JSON": lambda secret: json.dumps({"arguments": json.dumps({"key": secret})}),
    "base64": lambda secret: b64(secret),
    "base64 after a name": lambda secret: b64("user:" + secret),
    "base64 amid": lambda secret: b64("us:" + secret + ":more"),
    "in JSON with slashes escaped": lambda secret: json.dumps({"error": secret}).replace("/", "\\/"),
    "in JSON with signs as code points": lambda secret: code_points(secret, "\\u{:04X}"),
    "in HTML": lambda secret: html.escape(secret),
    "in HTML with signs as code points": lambda secret: code_points(secret, "&#{};"),
    "url-encoded twice": lambda secret: urllib.parse.quote(urllib.parse.quote(secret, safe=""), safe=""),
    "in hexadecimal": lambda secret: secret.encode().hex(),
    "in upper case": lambda secret: secret.upper(),
    "in lower case": lambda secret: secret.lower(),
    "in swapped case": lambda secret: secret.swapcase(),
    "in upper case, url-encoded": lambda secret: urllib.parse.quote(secret.upper(), safe=""),
    "in upper case, in JSON": lambda secret: json.dumps({"error": secret.upper()}),
    "in upper case, base64": lambda secret: b64("user:" + secret.upper()),
    "in lower case, in hexadecimal": lambda secret: secret.lower().encode().hex().upper(),
    "url-safe base64": lambda secret: base64.urlsafe_b64encode(b"x" + secret.encode()).decode(),
}
SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126), min_size=12, max_size=60)

LONG_SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='\\"'), min_size=16)


@pytest.mark.parametrize("name", DISGUISES)
@given(secret=SECRETS, before=st.text(max_size=20), after=st.text(max_size=20))
@example(secret=KEY, before="", after="")
@example(secret='quo"te\\back/slash', before="é", after="\n")
def test_no_secret_survives(name: str, secret: str, before: str, after: str) -> None:
    """In every disguise, amid any text, the secret is gone and the mask is there, in text and in bytes."""
    disguised = DISGUISES[name](secret)
    scrubber = Scrubber([secret])
    for scrubbed in (
        scrubber.text(before + disguised + after),
        scrubber.bytes((before + disguised + after).encode(errors="replace")).decode(),
    ):
        assert MASK in scrubbed
        assert secret not in scrubbed.replace(MASK, "\0")
        # What is left of the disguise is its wrapping: it cannot be undone any more.
        assert core(disguised, secret) not in scrubbed


def core(disguised: str, secret: str) -> str:
    """The part of a disguise without which the secret cannot be read back: its middle half."""
    quarter = len(disguised) // 4
    return disguised[quarter : len(disguised) - quarter] if secret not in disguised else secret


@given(
    overlap=st.text("abcXYZ-", min_size=3, max_size=6),
    head=st.text("012345", min_size=6, max_size=12),
    tail=st.text("6789_", min_size=6, max_size=12),
)
def test_overlapping_secrets_leave_no_piece(overlap: str, head: str, tail: str) -> None:
    """Where two secrets share characters all of both is masked, once, in whichever order they are known."""
    first, second = head + overlap, overlap + tail
    for secrets in ((first, second), (second, first)):
        assert Scrubber(secrets).text(f"<{head}{overlap}{tail}>") == f"<{MASK}>"


def test_a_secret_inside_another_is_masked_with_it() -> None:
    """The longer one is masked whole; the shorter one alone too."""
    scrubber = Scrubber(["abcdefgh", "12abcdefgh34"])
    assert scrubber.text("12abcdefgh34 abcdefgh") == f"{MASK} {MASK}"


def test_the_tail_is_masked_alone() -> None:
    """Vendors echo the last characters of a key; of a short one they would be an ordinary word."""
    assert Scrubber(["sk-0123456789abcdef"]).text("key sk-…89abcdef") == f"key sk-…{MASK}"
    assert Scrubber(["sk-something"]).text("there is something") == "there is something"


@pytest.mark.parametrize("short", ["", "a", "12345"])
def test_short_secrets_are_left_to_the_configuration(short: str) -> None:
    """Masking every "a" would mask everything."""
    assert Scrubber([short]).text("12345 banana") == "12345 banana"


@pytest.mark.parametrize("name", DISGUISES)
@given(secret=LONG_SECRETS, data=st.data())
def test_a_message_cut_inside_a_secret_shows_no_more_than_its_first_characters(
    name: str, secret: str, data: st.DataObject
) -> None:
    """A cap may fall anywhere: beyond eleven characters nothing of a secret's beginning is left, nor before its end."""
    disguised = DISGUISES[name](secret)
    scrubber = Scrubber([secret])
    cut = data.draw(st.integers(0, len(disguised)))
    left = scrubber.text("it was " + disguised[:cut]).removeprefix("it was ")
    assert not any(secret[:size] in left.replace(MASK, "\0") for size in range(12, len(secret) + 1))
    if name == "as it is":
        assert len(left.replace(MASK, "")) <= 11
        shown = scrubber.text("…" + secret[-max(8, len(secret) - cut) :])
        assert shown == f"…{MASK}"


@given(text=st.text(), secrets=st.lists(SECRETS, max_size=3))
def test_other_text_is_untouched(text: str, secrets: list[str]) -> None:
    """Without a secret in it a text comes back as it was."""
    scrubber = Scrubber(secrets)
    assume(not any(sought in text.lower() for sought, _ in scrubber._texts))
    assert scrubber.text(text) is text
    data = text.encode()
    assert scrubber.bytes(data) is data


@given(secret=SECRETS)
def test_nobody_can_print_it(secret: str) -> None:
    """Neither repr nor str of a scrubber shows what it knows."""
    scrubber = Scrubber([secret])
    assume(secret not in f"Scrubber({len(scrubber._texts)} patterns)")
    assert secret not in repr(scrubber)
    assert secret not in str(scrubber)


# No key looks like the inside of a JSON escape, so words that need one are left out here.
PLAIN_WORDS = st.text(st.characters(exclude_categories=("Cc", "Cs"), exclude_characters='\\"'), max_size=30)


PLAIN = st.text("nrtbf01bu/", min_size=12, max_size=12)


@given(
    head=PLAIN, middle=st.text("n1bu/", max_size=6), tail=PLAIN, before=st.text('\n\t\x1b\\"nu01b'),
    after=st.text('\n\\"u01b'), places=st.tuples(st.integers(0, 8), st.integers(12, 24)),
)  # fmt: skip
def test_no_escape_is_cut_in_two(
    head: str, middle: str, tail: str, before: str, after: str, places: tuple[int, int]
) -> None:
    """A piece of a secret amid escapes leaves a line that can still be read: a mask never loses a record."""
    secret = head + middle + tail
    for piece in (secret[places[0] :], secret[: places[1]]):
        line = json.dumps({"message": before + piece + after}).encode()
        assert set(json.loads(Scrubber([secret]).bytes(line))) == {"message"}


@given(secret=SECRETS, words=PLAIN_WORDS)
def test_a_scrubbed_json_line_is_still_json(secret: str, words: str) -> None:
    """Masking bytes of a record's line leaves a line that can be read."""
    assume("\\" not in secret)
    assume('"' not in secret)
    line = json.dumps({"message": words + secret + words}, ensure_ascii=False).encode(errors="replace")
    assert MASK in json.loads(Scrubber([secret]).bytes(line))["message"]


@given(
    secrets=st.lists(SECRETS, max_size=4),
    said=st.lists(st.sampled_from(sorted(DISGUISES)) | st.text(max_size=8), max_size=6),
    cut=st.integers(0, 40),
)
def test_one_pass_finds_what_a_search_for_each_piece_finds(secrets: list[str], said: list[str], cut: int) -> None:
    """With the extra `fast` and without it the same is masked, of many keys and of disguises that were cut."""
    pytest.importorskip("ahocorasick_rs")
    words = [
        DISGUISES[each](secrets[place % len(secrets)])[: cut + 8] if each in DISGUISES and secrets else each
        for place, each in enumerate(said)
    ]
    text = " ".join(words)
    quick = Scrubber(secrets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction, "find_spec", lambda _name: None)
        plain = Scrubber(secrets)
    data = text.encode(errors="replace")
    assert (quick.text(text), quick.bytes(data)) == (plain.text(text), plain.bytes(data))


def test_a_scrubber_travels_to_another_process() -> None:
    """It masks there what it masks here."""
    travelled: Scrubber = pickle.loads(pickle.dumps(Scrubber([KEY])))
    assert travelled.text(f"the key is {KEY}.") == f"the key is {MASK}."


@pytest.mark.parametrize("apart", [" ", "\\n"])
def test_a_key_echoed_again_and_again_costs_what_its_length_is(apart: str) -> None:
    """Also with escapes between: none is told apart by all that stands before it."""
    scrubber = Scrubber([KEY])
    assert_linear(lambda count: partial(scrubber.bytes, (KEY + apart).encode() * count), 5000)


@given(st.integers(0, 200), st.integers(0, 20))
def test_an_escape_is_told_by_the_backslashes_before_it(backslashes: int, before: int) -> None:
    """However many they are: every other one begins an escape, which is never cut in two."""
    text = "x" * before + "\\" * (2 * backslashes)
    assert Scrubber(["nextsecret"]).text(text + "nextsecret") == text + MASK
    assert Scrubber(["nextsecret"]).text(text + "\\" + "nextsecret") == text + "\\" + "nextsecret"[:1] + MASK
