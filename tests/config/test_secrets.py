"""Where keys come from, and that none is in a config or in a message."""

from __future__ import annotations

import contextlib
import re

import pytest

from vendor_verifier.config.secret_text import is_placeholder, shown
from vendor_verifier.errors import ConfigError

CANARY = "sk-" + "CANARY0123456789abcdefghij"  # in two pieces, so that scanners of this repository stay quiet
URL = 'url: "https://h/v1"'


def entry(line: str, name: str = "a") -> str:
    return f'm:\n  vendors:\n    - {{name: "{name}", model_id: m, {URL}, {line}}}\n'


@pytest.mark.parametrize(
    "placeholder",
    ["", "xxxxxx", "sk-xxxx", "sk-or-v1-xxxx", "your-key-here", "<your key>", "YOUR_API_KEY", "...", "****"],
)
def test_placeholders_count_as_absent(load, refusals, placeholder):
    """A placeholder in config.yaml falls back to the vendor's variable; one in .env is as good as none."""
    assert is_placeholder(placeholder)
    config = entry(f'api_key: "{placeholder}"')
    assert load(config, "a=real-key\n").entries[0].endpoint.key == "real-key"
    (problem,) = refusals(config, f'a="{placeholder}"\n')
    assert "is empty or holds only a placeholder" in problem.message


@pytest.mark.parametrize(
    ("env", "environ", "expected"),
    [
        ("a=file-key\n", {"a": "env-key"}, "env-key"),
        ("a=file-key\n", {"a": ""}, "file-key"),
        ('export a="x${HOME}y"  # comment\nHOME=elsewhere\n', {}, "x${HOME}y"),
        ("z.ai=file-key\n", {}, "file-key"),
        ("429.icu=file-key\n", {"429.icu": "env-key"}, "env-key"),
        ("'moonshot ai'=file-key\n", {}, "file-key"),
        ("", {"moonshot ai": "env-key"}, "env-key"),
    ],
)
def test_the_environment_wins_unless_it_is_empty(load, env, environ, expected):
    """Values in .env are not interpolated, and names like domains work everywhere."""
    name = next(iter(environ), env.removeprefix("export ").partition("=")[0].strip("'"))
    assert load(entry("is_baseline: true", name), env, environ=environ).entries[0].endpoint.key == expected


@pytest.mark.parametrize("content", [b"a='", b"\x00=\x00", b"\xff\xfea"])
def test_an_env_file_of_any_bytes_is_read_or_refused(load, tmp_path, content):
    (tmp_path / ".env").write_bytes(content)
    with contextlib.suppress(ConfigError):
        load(entry("is_baseline: true"))


def test_a_missing_key_names_variable_and_file_once(refusals, tmp_path):
    """One problem for a variable however many entries need it, with the file to write it to."""
    config = entry("label: one") + f"    - {{name: a, model_id: m, {URL}}}\n    - {{name: b, model_id: m, {URL}}}\n"
    first, second = refusals(config, "A=other-case\n")
    assert re.search(r"no value for `a` \(did you mean `A`\?\); set it in .*\.env as `a=<the key>`", first.message)
    assert "2 entries need it" in first.message
    assert str(tmp_path / ".env") in first.message
    assert (first.line, second.line) == (3, 5)


@pytest.mark.parametrize(
    ("line", "name", "value", "key"),
    [
        ("is_baseline: true", "a", "two words", "m.vendors[0]"),
        ("is_baseline: true", "a", "naïve-key", "m.vendors[0]"),
        ('api_key_env: b, extra_headers: {X-A: "${a}"}', "a", "x\r\nEvil: 1", "m.vendors[0].extra_headers.X-A"),
    ],
)
def test_a_value_that_cannot_be_in_a_header_is_refused_unseen(refusals, line, name, value, key):
    """Blanks in a key, breaks, and foreign letters: refused without being shown."""
    (problem,) = refusals(entry(line), "b=key\n", environ={name: value})
    assert problem.key == key
    assert "cannot be sent" in problem.message
    assert value not in problem.message


def test_an_explicit_key_is_required_even_locally(load, refusals):
    config = 'm: {vendors: [{name: a, model_id: m, url: "http://localhost:1", api_key_env: K}]}'
    (problem,) = refusals(config)
    assert "`K=<the key>`" in problem.message
    assert load(config, "K=value\n").entries[0].endpoint.key == "value"


def test_an_open_env_file_warns(load, tmp_path):
    """A .env that others may read is used, with a warning that says how to close it; a closed one is silent."""
    config = entry("is_baseline: true")
    assert not [text for text in load(config, "a=key\n").warnings if "chmod" in text]
    (tmp_path / ".env").chmod(0o640)
    (warning,) = [text for text in load(config).warnings if "chmod 600" in text]
    assert "mode 0640" in warning


@pytest.mark.parametrize(
    "name",
    ["qwen3-235b-a22b-instruct-2507", "accounts/fireworks/models/kimi-k2-instruct-0905", "claude-haiku-4.5", "sk-xxxx"],
)
def test_model_names_are_not_taken_for_keys(name):
    """Long model names are shown in full: only forms of keys are cut."""
    assert shown(name) == f"`{name}`"


KNOWN = "kimi-k2:\n  vendors:\n    - {{name: together, model_id: m, url: '{url}'{more}}}\n"


@pytest.mark.parametrize(
    "url", ["https://collector.example/v1", "https://api.together.xyz.collector.example/v1", "https://10.0.0.1/v1"]
)
def test_a_known_vendors_key_is_not_sent_to_a_foreign_host(refusals, url):
    (problem,) = refusals(KNOWN.format(url=url, more=""), "together=CANARY-0123456789\n")
    assert problem.key == "kimi-k2.vendors[0].url"
    assert problem.line == 3
    assert "belongs to api.together.xyz and would be sent to" in problem.message
    assert "`api_key_env: together`" in problem.message
    assert "CANARY" not in str(problem)


@pytest.mark.parametrize(
    ("url", "more"),
    [
        ("https://collector.example/v1", ", api_key_env: together"),
        ("https://collector.example/v1", ", api_key: '${{together}}'"),
        ("https://api.together.xyz/v2", ""),
        ("http://127.0.0.1:9/v1", ""),
    ],
)
def test_a_key_goes_home_to_this_machine(load, url, more):
    (entry,) = load(KNOWN.format(url=url, more=more.format()), "together=CANARY-0123456789\n").entries
    assert entry.endpoint.key == "CANARY-0123456789"
