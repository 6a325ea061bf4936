"""Keys of a config.yaml move to .env by their places: nothing else of either text changes, and no key is lost."""

from __future__ import annotations

import re

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vendor_verifier.config.env_file import parse_env
from vendor_verifier.config.old_files import move_keys

ONE, TWO = "CANARY-one-0123456789", "CANARY-two-0123456789"
CONFIG = f"""\
# who is asked
minimax-m2.5:            # the model
  vendors:
    - name: openrouter   # the router
      api_key: {ONE}   # bought in May
      provider: minimax/
      is_baseline: true
    - {{name: yunwu, api_key: "{TWO}", url: "https://y.example/v1"}}
kimi-k2.5:
  vendors:
    - name: openrouter
      api_key: '{TWO}'
    - name: siliconflow
      api_key: xxxxxx
    - name: packyapi
      api_key: ${{group_a}}
"""


def test_moving_twice_is_moving_once() -> None:
    """What was moved is left alone."""
    once = move_keys(CONFIG, "", str)
    again = move_keys(once.config, once.env, str)
    assert (again.config, again.env, again.keys) == (once.config, once.env, ())


@pytest.mark.parametrize(
    ("env", "result", "how"),
    [
        ("", f"openrouter={ONE}\n", "moved"),
        ("# mine\nother=1", f"# mine\nother=1\nopenrouter={ONE}\n", "moved"),
        (f"openrouter={ONE}\n", f"openrouter={ONE}\n", "there"),
        ("openrouter=sk-xxxx\nother=1\n", f"openrouter={ONE}\nother=1\n", "moved"),
        ("openrouter=\nother=1\n", f"openrouter={ONE}\nother=1\n", "moved"),
        ("openrouter=another-key-of-mine\n", f"openrouter=another-key-of-mine\nopenrouter_2={ONE}\n", "renamed"),
    ],
)
def test_what_env_holds_already(env: str, result: str, how: str) -> None:
    """A key that differs is never overwritten, the space for one is filled, and the same key is not written twice."""
    config = f"m:\n  vendors:\n    - name: openrouter\n      api_key: {ONE}\n"
    moved = move_keys(config, env, str)
    assert (moved.env, moved.keys[0].how) == (result, how)
    assert ONE not in moved.config


@pytest.mark.parametrize(
    "written",
    [
        f"api_key: &key {ONE}",
        f"api_key: |\n        {ONE}\n      url: https://o.example/v1",
        f"api_key: >-\n        {ONE}",
        f"{{}}\n    - {{name: b, api_key: {ONE}}}",
        "api_key: 0123456789012",
    ],
)
def test_a_key_may_be_written_in_any_way(written: str) -> None:
    """Anchors, blocks and figures: the key is found, and the file says the same but for it."""
    config = f"m:\n  vendors:\n    - name: a\n      x: {written}\n" if written[0] == "{" else ""
    config = config or f"m:\n  vendors:\n    - name: a\n      {written}\n"
    moved = move_keys(config, "", str)
    assert ONE not in moved.config
    assert "0123456789012" not in moved.config
    assert re.search(r"\$\{\w+\}", moved.config)
    assert len(parse_env(moved.env)[0]) == 1


def test_a_key_given_twice_or_brought_in_by_a_merge_is_moved_too() -> None:
    """What the loader refuses afterwards still holds no key."""
    config = (
        f"x: &shared {{name: a, api_key: {ONE}}}\nm:\n  vendors:\n    - <<: *shared\n      api_key: {TWO}\nm: {{}}\n"
    )
    moved = move_keys(config, "", str)
    assert ONE not in moved.config
    assert TWO not in moved.config


def test_a_key_in_a_comment_is_named_by_its_line() -> None:
    """A comment is not touched; its line is reported."""
    config = f"m:\n  vendors:\n    - name: a\n      api_key: {ONE}\n# before: {ONE}\n# other: sk-abcdefghijklmnop\n"
    assert move_keys(config, "", str).lines == (5, 6)


NAMES = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "Zs"]), min_size=1, max_size=12)
KEYS = st.text(st.characters(codec="ascii", min_codepoint=33, max_codepoint=126), min_size=9, max_size=40)


@given(st.lists(st.tuples(NAMES, KEYS), min_size=1, max_size=6), st.booleans())
def test_no_key_is_lost_and_none_stays(vendors: list[tuple[str, str]], flow: bool) -> None:
    """Whatever vendors and keys are called: each entry's reference leads to its key in .env."""
    entries = [{"name": name, "api_key": key, "model_id": "m"} for name, key in vendors]
    text = yaml.safe_dump({"m": {"vendors": entries}}, default_flow_style=flow, allow_unicode=True)
    moved = move_keys(text, "", str)
    env = parse_env(moved.env)[0]
    after = yaml.safe_load(moved.config)["m"]["vendors"]
    for before, entry in zip(entries, after, strict=True):
        name = re.fullmatch(r"\$\{(.+)\}", entry["api_key"])
        if name is None:
            assert entry == before  # a placeholder or a reference already
        else:
            assert env[name[1]].strip() == before["api_key"].strip()
            assert {**entry, "api_key": before["api_key"]} == before
