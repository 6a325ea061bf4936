"""Every mistake is named with its line, what was read and how to mend it, and all of them at once."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from vendor_verifier.config import load_config
from vendor_verifier.errors import ConfigError

LOCAL = 'name: a, model_id: m, url: "http://127.0.0.1:1"'


def with_entry(line: str) -> str:
    return f"m:\n  vendors:\n    - {{{line}}}\n"


def test_models_below_a_heading_are_one_mistake(refusals):
    """Other tools' files have `models:` around them; what stands in it is not judged as if it were a model."""
    (problem,) = refusals("models:\n  m:\n    vendors:\n      - {name: a, model_id: m, url: 'http://127.0.0.1:1'}\n")
    assert (problem.line, problem.key) == (1, "models")
    assert re.search(r"read models below `models`; .*top level", problem.message)


@pytest.mark.parametrize(
    ("line", "key", "expected"),
    [
        (f"{LOCAL}, temprature: 1", "temprature", r"unknown key.*did you mean `temperature`"),
        (f"{LOCAL}, qwertz: 1", "qwertz", r"unknown key.*known are `validator`"),
        (f"{LOCAL}, validator: opnai", "validator", r"unknown validator `opnai` \(did you mean `openai`"),
        (f"{LOCAL}, temperature: 2.1", "temperature", r"read `2.1`; expected a number from 0 to 2"),
        (f"{LOCAL}, temperature: hot", "temperature", r"read the text `hot`; expected a number"),
        (f"{LOCAL}, temperature: true", "temperature", r"read `true`; expected a number"),
        (f"{LOCAL}, max_tokens: 0", "max_tokens", r"read `0`; expected at least 1"),
        (f"{LOCAL}, max_tokens: 1e3", "max_tokens", r"read `1e3`; expected a whole number"),
        (f"{LOCAL}, concurrency: 1.5", "concurrency", r"expected a whole number"),
        (f'{LOCAL}, is_baseline: "true"', "is_baseline", r"expected `true` or `false`, without quotes"),
        (f"{LOCAL}, price: {{inputs: 1}}", "price.inputs", r"unknown key in price \(did you mean `input`"),
        (f"{LOCAL}, price: {{input: -1}}", "price.input", r"read `-1`; expected at least 0"),
        (
            f"{LOCAL}, price: {{currency: yuan}}",
            "price.currency",
            r"read the text `yuan`; .*three capital",
        ),
        (f"{LOCAL}, extra_body: [1]", "extra_body", r"read a list; expected a mapping"),
        (f"{LOCAL}, extra_body: {{messages: []}}", "extra_body.messages", r"the question itself"),
        (f"{LOCAL}, extra_body: {{a: .nan}}", "extra_body.a", r"`.nan`: no number that can be sent"),
        (f"{LOCAL}, extra_headers: {{Host: x}}", "extra_headers.Host", r"set by the transport"),
        (f'{LOCAL}, extra_headers: {{"a b": x}}', "extra_headers.a b", r"not a header name"),
        (f'{LOCAL}, extra_headers: {{a: "${{X"}}', "extra_headers.a", r"written `\$\{NAME\}`"),
        (f'{LOCAL}, label: "a\\e[31m"', "label", r"control character"),
        (f"{LOCAL}, provider: /", "provider", r"names no provider"),
        ("name: a, url: http://127.0.0.1:1", "model_id", r"missing; nobody has told what `a` calls `m`"),
        ("name: a, model_id: , url: http://127.0.0.1:1", "model_id", r"missing; nobody has told what `a` calls `m`"),
        ("name: a, model_id: no, url: http://127.0.0.1:1", "model_id", r'read `no`.*true/false.*in quotes: "no"'),
        ("name: a, model_id: 4.5, url: http://127.0.0.1:1", "model_id", r'read `4.5`.*number.*in quotes: "4.5"'),
        ("name: a, model_id: 1e3, url: http://127.0.0.1:1", "model_id", r'read `1e3`.*number.*in quotes: "1e3"'),
        ("name: a, model_id: 0123, url: http://127.0.0.1:1", "model_id", r"read `0123`: .*octal; quote it"),
        ("name: a, model_id: 2024-01-01, url: http://127.0.0.1:1", "model_id", r"read `2024-01-01`: .*date; quote"),
        ("name: a, model_id: 12:30:00, url: http://127.0.0.1:1", "model_id", r"read `12:30:00`: .*base-60.*quote"),
        ("name: deepsek, model_id: m", None, r"no url for `deepsek`.*did you mean `deepseek`.*add `url:"),
        ("name: a, model_id: m, url: ftp://h/v1", "url", r"starts with https://"),
        ("name: a, model_id: m, url: http://h/v1", "url", r"plain http.*loopback.*allow_http: true"),
        ("name: a, model_id: m, url: https://u:hunter2@h/v1", "url", r"user name or password"),
        ('name: a, model_id: m, url: "https://h/v1?key=hunter2"', "url", r"\?query"),
        ('name: a, model_id: m, url: "https://[::1"', "url", r"not a url"),
        ("name: a, model_id: m, url: https://h:99999", "url", r"not a url"),
        ('name: a, model_id: m, url: "https://"', "url", r"names no host"),
        ('name: a, model_id: m, url: "https://h /v1"', "url", r"a space"),
        ("name: a, model_id: m, url: sim://Not_One", "url", r"sim://<persona>"),
    ],
)
def test_each_mistake_in_an_entry(refusals, line, key, expected):
    """One mistake gives one problem, on its line, under its key, saying what was read and how to mend it."""
    (problem,) = refusals(with_entry(line))
    assert problem.key == "m.vendors[0]" + (f".{key}" if key else "")
    assert problem.line == 3
    assert problem.file is not None
    assert re.search(expected, problem.message), problem.message
    assert "hunter2" not in problem.message


@pytest.mark.parametrize(
    ("text", "line", "expected"),
    [
        ("", 1, r"read nothing; expected model names"),
        ("- a\n", 1, r"read a list; expected model names"),
        ("defaults: {temperature: 1}\n", 1, r"names no model"),
        ("m:\n", 1, r"empty; expected a mapping"),
        ("m: {}\n", 1, r"`vendors` is missing"),
        ("m:\n  vendors: []\n", 2, r"at least one vendor"),
        ("m:\n  vendors: {}\n", 2, r"read a mapping; expected a list"),
        ("m:\n  vendors:\n    - deepseek\n", 3, r"expected a mapping"),
        (f"m:\n  vendor: []\n  vendors: [{{{LOCAL}}}]\n", 2, r"unknown key in a model \(did you mean `vendors`"),
        (f"defaults:\n  label: x\nm: {{vendors: [{{{LOCAL}}}]}}\n", 2, r"belongs to one vendor entry"),
        (f"defaults: 3\nm: {{vendors: [{{{LOCAL}}}]}}\n", 1, r"read a single value \(number\); expected a mapping"),
        (f"gates: f1\nm: {{vendors: [{{{LOCAL}}}]}}\n", 1, r"expected a list of conditions"),
        (f"gates:\n  - 5\nm: {{vendors: [{{{LOCAL}}}]}}\n", 2, r"read `5`|a single value"),
        (f"suites: []\nm: {{vendors: [{{{LOCAL}}}]}}\n", 1, r"read an empty list; expected suite names"),
        (f"no: {{vendors: [{{{LOCAL}}}]}}\nm: {{vendors: [{{{LOCAL}}}]}}\n", 1, r"`no`: a key must be text"),
        (f"? [a]\n: 1\nm: {{vendors: [{{{LOCAL}}}]}}\n", 1, r"a key must be text, this one is a list"),
        (f"m: {{vendors: [{{{LOCAL}}}]}}\nm: {{vendors: []}}\n", 2, r"given twice, first on line 1"),
        (f"m: {{vendors: [{{{LOCAL}, name: b}}]}}\n", 1, r"given twice"),
        (f"m: {{vendors: [{{{LOCAL}, label: !x y}}]}}\n", 1, r"`!x`: YAML tags are not read"),
        ("m: [\n", 2, r"not valid YAML"),
        ("m: 1\n n: 2\n", 2, r"not valid YAML"),
        ("a: 1\n---\nb: 2\n", 2, r"not valid YAML.*single document"),
        ("a: *b\n", 1, r"alias .* without its anchor"),
        ("a: &x [*x]\n", 1, r"expand without end"),
        ("a: \x07\n", 1, r"U\+0007"),
        ('a: "\\UFFFFFFFF"\n', None, r"stands for no character"),
        ('a: "\\uD800"\n', 1, r"half a character"),
        ('"\\uD800": 1\n', 1, r"a key must be text"),
        ("a: [" + "1," * 20_001 + "]", 1, r"more than 20000 values"),
        ("a: " + "[" * 60 + "]" * 60, 1, r"levels deep"),
        ("a: &x 1\nb: [" + "*x, " * 101 + "]\n", 2, r"more than 100 aliases"),
        ("\n".join(f"k{i}: &k{i} [{f'*k{i - 1}, ' * 9}]" for i in range(1, 10)).replace("*k0", "0"), None, r"expand"),
        ("#" * 1_000_001, None, r"larger than 1 MB"),
        (f"m: {{vendors: [{{{LOCAL}, max_tokens: {'9' * 5000}}}]}}\n", 1, r"quote it"),
    ],
)
def test_each_mistake_in_the_file(refusals, text, line, expected):
    """A file that is not what is expected, or dangerous to read, is refused on the line that matters."""
    problem = refusals(text)[0]
    assert re.search(expected, problem.message), problem.message
    assert line is None or problem.line == line


def test_all_problems_at_once(refusals):
    """Unrelated mistakes in several sections, entries and fields come in one error, in the order of the file."""
    problems = refusals(
        """\
defaults:
  temprature: 1
m:
  vendors:
    - name: a
      model_id: 0123
      url: ftp://h
    - name: b
      model_id: m
      url: https://h
      validator: opnai
      max_tokens: 0
      api_key: sk-0123456789abcdef
n:
  vendors:
    - {name: c, model_id: m, url: "https://h"}
""",
        models=["o"],
    )
    assert [problem.line for problem in problems] == [2, 6, 7, 11, 12, 13, None]
    config = with_entry('name: c, model_id: m, url: "https://h"') + "    - {name: d, model_id: 0123}\n"
    problems = refusals(config)
    assert [problem.line for problem in problems] == [3, 4, 4]


def test_a_missing_config_says_how_to_make_one(tmp_path: Path, registry):
    """Without a file the message names the command that writes one, the example, and the demo that needs none."""
    with pytest.raises(ConfigError, match=r"init --model .*config_example\.yaml.*agent-vendor-verifier demo"):
        load_config(tmp_path / "config.yaml", env_file=None, environ={}, registry=registry)


def test_unreadable_files_are_problems(tmp_path: Path, registry):
    """A folder or bytes that are not UTF-8 in the place of the config are reported, not raised through."""
    with pytest.raises(ConfigError, match="cannot be read"):
        load_config(tmp_path, env_file=None, environ={}, registry=registry)
    (tmp_path / "latin.yaml").write_bytes(b"a: 1\nb: \xe9\n")
    with pytest.raises(ConfigError, match=r"latin\.yaml:2: not UTF-8"):
        load_config(tmp_path / "latin.yaml", env_file=None, environ={}, registry=registry)


def test_plain_http_is_for_loopback_or_when_allowed(load):
    """Loopback addresses and an explicit ``allow_http`` may use http; others may not."""
    for host in ("127.0.0.1", "localhost", "[::1]", "127.8.8.8"):
        assert load(with_entry(f'name: a, model_id: m, url: "http://{host}:1/v1/"')).entries[0].endpoint.key is None
    config = with_entry("name: a, model_id: m, url: http://10.0.0.1/v1, allow_http: true")
    assert load(config, "a=some-key\n").entries[0].endpoint.base_url == "http://10.0.0.1/v1"
