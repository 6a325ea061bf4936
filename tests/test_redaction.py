"""No secret survives scrubbing, in any disguise, and ``run.redact_content`` stores no text and changes no score."""

from __future__ import annotations

import base64
import html
import json
import urllib.parse
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from workbench import Bench

from vendor_verifier import redaction
from vendor_verifier.cli.main import run_app
from vendor_verifier.records.record import Attempt, CallVerdict, Failure, Record, Response, Score, ToolCall, TurnRecord
from vendor_verifier.records.request import ToolResult
from vendor_verifier.redaction import MASK, Scrubber, digest_text, redacted_record
from vendor_verifier.store import decode_record, encode_record

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
PRINTABLE = st.characters(min_codepoint=33, max_codepoint=126)
SECRETS = st.text(PRINTABLE, min_size=12, max_size=60)
LONG_SECRETS = st.text(st.characters(min_codepoint=33, max_codepoint=126, exclude_characters='\\"'), min_size=16)


@pytest.mark.parametrize("name", DISGUISES)
@given(secret=SECRETS, before=st.text(max_size=20), after=st.text(max_size=20))
@example(secret=KEY, before="", after="")
@example(secret='quo"te\\back/slash', before="é", after="\n")
def test_no_secret_survives(name: str, secret: str, before: str, after: str) -> None:
    """In every disguise, amid any text, the secret is gone and the mask is there."""
    disguised = DISGUISES[name](secret)
    scrubbed = Scrubber([secret]).text(before + disguised + after)
    assert MASK in scrubbed
    assert secret not in scrubbed.replace(MASK, "\0")
    # What is left of the disguise is its wrapping: it cannot be undone any more.
    quarter = len(disguised) // 4
    core = disguised[quarter : len(disguised) - quarter] if secret not in disguised else secret
    assert core not in scrubbed


@pytest.mark.parametrize("name", DISGUISES)
@given(secret=LONG_SECRETS, data=st.data())
def test_a_secret_cut_off_shows_its_first_characters(name: str, secret: str, data: st.DataObject) -> None:
    """A cap may fall anywhere: beyond eleven characters nothing of a secret's beginning is left, nor before its end."""
    disguised = DISGUISES[name](secret)
    scrubber = Scrubber([secret])
    cut = data.draw(st.integers(0, len(disguised)))
    left = scrubber.text("it was " + disguised[:cut]).removeprefix("it was ")
    assert not any(secret[:size] in left.replace(MASK, "\0") for size in range(12, len(secret) + 1))
    if name == "as it is":
        assert len(left.replace(MASK, "")) <= 11
        assert scrubber.text("…" + secret[-max(8, len(secret) - cut) :]) == f"…{MASK}"


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


@pytest.mark.parametrize(
    ("secrets", "names", "text", "scrubbed"),
    [
        (["abcdefgh", "12abcdefgh34"], [], "12abcdefgh34 abcdefgh", f"{MASK} {MASK}"),
        (["sk-0123456789abcdef"], [], "key sk-…89abcdef", f"key sk-…{MASK}"),
        # The end of a short one is an ordinary word.
        (["sk-something"], [], "there is something", "there is something"),
        (["", "a", "12345"], [], "12345 banana", "12345 banana"),
        # What the configuration names is public.
        (["ollama"], ["ollama"], "Ollama has no such model", "Ollama has no such model"),
        (["studio"], ["lm-studio"], "lm-studio", "lm-studio"),
        (["sk-test-openrouter"], ["openrouter"], "openrouter: no sk-test-openrouter", f"openrouter: no {MASK}"),
        (["sk-test-openrouter"], ["openrouter"], "bad key sk-test-open", f"bad key {MASK}"),
        (["lm-studio-host-0123456789"], ["lm-studio-host"], "lm-studio-host lm-studio-host-0123456789",
         f"lm-studio-host {MASK}"),
    ],
)  # fmt: skip
def test_words_and_pieces(secrets: list[str], names: list[str], text: str, scrubbed: str) -> None:
    assert Scrubber(secrets, names).text(text) == scrubbed


@given(secrets=st.lists(SECRETS, max_size=3), name=st.text(PRINTABLE, min_size=1, max_size=20))
def test_no_name_is_masked(secrets: list[str], name: str) -> None:
    """Whatever the secrets are, one that is the name itself included."""
    assert Scrubber([*secrets, name], [name]).text(name) == name


@given(
    secrets=st.lists(SECRETS, max_size=4),
    said=st.lists(st.sampled_from(sorted(DISGUISES)) | st.text(max_size=8), max_size=6),
    cut=st.integers(0, 40),
)
def test_one_pass_finds_what_single_searches_find(secrets: list[str], said: list[str], cut: int) -> None:
    """With the extra `fast` and without it the same is masked, of many keys and of disguises that were cut."""
    pytest.importorskip("ahocorasick_rs")
    words = [
        DISGUISES[each](secrets[place % len(secrets)])[: cut + 8] if each in DISGUISES and secrets else each
        for place, each in enumerate(said)
    ]
    quick = Scrubber(secrets)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(redaction, "find_spec", lambda _name: None)
        plain = Scrubber(secrets)
    assert quick.text(" ".join(words)) == plain.text(" ".join(words))


def said_by_a_vendor(text: str) -> Record:
    """A record in which every text that a vendor or a tool may choose is this one."""
    call = ToolCall(name=text, arguments=text, id=text)
    response = Response(
        text, text, (call,), finish_raw=text, served_model=text, served_provider=text,
        native_finish_reason=text, fingerprint=text, request_id=text,
    )  # fmt: skip
    failure = Failure("http_5xx", "stream", text, code=text, request_id=text)
    turn = TurnRecord((Attempt(1, None, response, failure),), (text,), (ToolResult(text, "ok", text),))
    return Record("run-01", "a-model", "a-label", "a-vendor", "a-suite", "a-sample-1", 0, (turn,))


def test_a_record_is_scrubbed_of_what_was_sent() -> None:
    """In every disguise. A key may be the name of a tool of the sample: calls of it are still judged."""
    scrubber = Scrubber([KEY])
    for disguised in (disguise(KEY) for disguise in DISGUISES.values()):
        assert scrubber.record(said_by_a_vendor(disguised)) == said_by_a_vendor(scrubber.text(disguised))
    tools = [{"type": "function", "function": {"name": "get_weather"}}]
    record = said_by_a_vendor("get_weather")
    assert Scrubber(["get_weather"]).record(record, tools) == record
    assert b"get_weather" not in encode_record(Scrubber(["get_weather"]).record(record))


# --- run.redact_content

WORDS_OF_SAMPLES = ("peppermint", "look_up_patient", "diagnosis", "Ferdinand")
LABELS = ("faithful", "quantised", "text-leaker")
# What scores hold of a vendor that is taken from what was said, not from when.
OF_CONTENT = ("f1", "success_rate", "schema_accuracy", "avg_tokens", "counts", "failures", "suites")
EVALUATIONS = ["toolbench", "mcptoolbench", "tool_correctness", "bfcl", "contract"]
REDACTED = ["--set", "run.redact_content=true"]


@pytest.fixture
def options(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """The options of runs of three vendors, with every evaluation."""
    bench = Bench(tmp_path_factory.mktemp("redaction"))
    config = bench.configure(*(f"{label}: {label}" for label in LABELS))
    properties = {"diagnosis": {"type": "string", "enum": ["peppermint", "Ferdinand"]}, "id": {"type": "integer"}}
    schema = {"type": "object", "properties": properties, "required": ["id", "diagnosis"]}
    tools = [{"type": "function", "function": {"name": "look_up_patient", "description": "x", "parameters": schema}}]
    asked = [f"Please look up patient {n} Ferdinand of peppermint." for n in range(12)]
    rows = [{"messages": [{"role": "user", "content": words}], "tools": tools} for words in asked]
    files = ["--config-file-path", str(config), "--test-file-path", str(bench.write("samples.jsonl", rows))]
    suites = (word for suite in ("trigger", *EVALUATIONS) for word in ("--suite", suite))
    return [*files, "--quiet", "--temperature", "0", "--history", "none", "-n", "8", *suites]


def vendors_of(output: Path, *words: str) -> dict[str, Any]:
    """By vendor the figures taken from content, and the statuses of the facets that need neither times nor texts."""
    assert run_app([*words, "-o", str(output)]) == 0
    scores, found = json.loads((output / "scores.json").read_text()), {}
    for label, vendor in scores["models"]["simulated-model"]["vendors"].items():
        facets = vendor["verdict"]["facets"]
        found[label] = {name: vendor[name] for name in OF_CONTENT}
        found[label] |= {name: facets[name]["status"] for name in ("tool_calls", "bill", "reliability")}
    return found


def words_in(folder: Path) -> set[str]:
    contents = [path.read_bytes().decode(errors="replace") for path in folder.rglob("*") if path.is_file()]
    return {word for word in WORDS_OF_SAMPLES for content in contents if word in content}


@pytest.mark.usefixtures("pages")
def test_a_redacted_run_holds_no_words_and_the_same_scores(
    options: list[str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The plain run proves that the words were there; neither run is gone on with as the other."""
    plain = vendors_of(tmp_path / "plain", *options)
    assert vendors_of(tmp_path / "redacted", *options, *REDACTED) == plain
    assert set(plain["quantised"]["suites"]) == set(EVALUATIONS)
    assert any(vendor["f1"] not in (None, 1.0) for vendor in plain.values())
    assert (words_in(tmp_path / "plain"), words_in(tmp_path / "redacted")) == (set(WORDS_OF_SAMPLES), set())
    for output, more in (("redacted", []), ("plain", REDACTED)):
        assert run_app([*options, "-o", str(tmp_path / output), "--incremental", *more]) == 2
        assert "redact_content was" in capsys.readouterr().err


@given(st.text())
def test_a_digest_keeps_length_and_emptiness(text: str) -> None:
    """Figures that count characters, or ask whether there were any, stay what they are."""
    digest = digest_text(text)
    assert (len(digest), bool(digest.strip())) == (len(text), bool(text.strip()))
    if text.strip():
        assert len(text) < 4 or text not in digest or text[:7] == "sha256:"


SENTENCES = st.text(alphabet="abcdefgäöü ,.{}", min_size=30).filter(lambda text: len(text.strip()) > 20)
FIELDS = ["text", "reasoning", "name", "arguments", "id", "message", "code", "finish", "detail"]


@given(SENTENCES, st.sampled_from(FIELDS))
def test_a_text_survives_nowhere_in_a_record(words: str, where: str) -> None:
    """Whatever field a vendor puts a sentence into, it does not come through; the record can still be read."""
    at = {name: words if name == where else "x" for name in FIELDS}
    call = ToolCall(at["name"], at["arguments"], at["id"])
    response = Response(at["text"], at["reasoning"], (call,), finish_raw=at["finish"])
    failure = Failure("bad_request", "headers", at["message"], 400, at["code"])
    verdict = CallVerdict(at["name"], "schema_mismatch", at["message"], at["arguments"])
    details = {"error": at["detail"], at["detail"][:3]: [at["detail"]]}
    record = Record("r", "m", "l", "v", "trigger", "s", 0, (TurnRecord((Attempt(1, None, response, failure),)),))
    line = encode_record(redacted_record(record, Score("trigger", "called", (verdict,), details=details)))
    assert words.encode() not in line
    kept = decode_record(line)
    assert kept.score is not None
    assert (kept.score.decision, kept.score.calls[0].verdict) == ("called", "schema_mismatch")
