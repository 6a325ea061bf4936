"""What a good configuration becomes."""

from __future__ import annotations

from pathlib import Path

import pytest

from vendor_verifier.records.plan import Price

PAGE = """\
minimax-m2.5:
  vendors:
    - name: openrouter
      model_id: minimax/minimax-m2.5
      api_key: xxxxxx
      provider: minimax/
      url: https://openrouter.ai/api/v1
      validator: openai
      is_baseline: true
    - name: siliconflow
      model_id: MiniMaxAI/MiniMax-M2.5
"""
KEYS = "openrouter=sk-or-v1-0123456789abcdef\nsiliconflow=sk-abcdef0123456789\n"


def test_the_pages_example_loads(load):
    """The example of the product's page means what the page says, its placeholder key counting as absent."""
    configuration = load(PAGE, KEYS)
    first, second = configuration.entries
    assert (first.label, second.label) == ("minimax (openrouter)", "siliconflow")
    assert first.endpoint.key == "sk-or-v1-0123456789abcdef"
    assert first.endpoint.body == {
        "provider": {"only": ["minimax"], "allow_fallbacks": False, "require_parameters": True}
    }
    assert (first.provider, first.is_baseline, first.wire, first.key_name) == ("minimax", True, "openai", "openrouter")
    assert second.endpoint.base_url == "https://api.siliconflow.cn/v1"
    assert second.endpoint.body == {}
    assert configuration.warnings == ()


def test_no_secret_in_any_repr_or_description(load):
    config = PAGE + "      extra_headers:\n        X-Team: team ${TEAM}\n"
    configuration = load(config, KEYS + "TEAM=canary-value\n")
    assert configuration.secrets == {
        "sk-or-v1-0123456789abcdef",
        "sk-abcdef0123456789",
        "team canary-value",
        "canary-value",
    }
    assert configuration.entries[1].endpoint.headers == {"x-team": "team canary-value"}
    assert not [secret for secret in configuration.secrets if secret in repr(configuration)]


def test_defaults_lie_under_every_entry(load):
    """A default reaches each entry, an entry's own value wins, and mappings merge key by key."""
    configuration = load(
        """\
defaults:
  temperature: 0.5
  max_tokens: 100
  concurrency: 3
  extra_body: {top_p: 0.9, nested: {a: 1, b: null}}
  extra_headers: {X-One: "1", x-two: "2"}
  price: {input: 1, output: 3, currency: CNY, rate: 0.14}
m:
  vendors:
    - {name: plain, model_id: a, url: "http://127.0.0.1:1"}
    - name: own
      model_id: a
      url: http://127.0.0.1:1
      temperature: 1
      concurrency: 7
      extra_body: {nested: {b: 2}}
      extra_headers: {x-one: "one"}
      price: {input: 2.5}
"""
    )
    plain, own = configuration.entries
    assert plain.parameters == {"temperature": 0.5, "max_tokens": 100}
    assert plain.endpoint.body == {"top_p": 0.9, "nested": {"a": 1, "b": None}}
    assert own.parameters == {"temperature": 1, "max_tokens": 100}
    assert own.endpoint.body == {"top_p": 0.9, "nested": {"a": 1, "b": 2}}
    assert own.endpoint.headers == {"x-one": "one", "x-two": "2"}
    assert own.price == Price(2.5, 3.0, currency="CNY", rate=0.14)
    assert (plain.concurrency, own.concurrency) == (3, 7)


def test_the_command_line_wins(load):
    """Overrides beat the entry, its extra_body included, and a given extra_body is merged over the provider pin."""
    config = PAGE + "      temperature: 0.1\n      extra_body: {temperature: 0.2, top_k: 5}\n"
    overrides = {"temperature": 1.5, "max_tokens": None, "extra_body": {"provider": {"sort": "price"}}}
    first, second = load(config, KEYS, **overrides).entries
    assert second.parameters == {"temperature": 1.5}
    assert second.endpoint.body == {"top_k": 5, "provider": {"sort": "price"}}
    assert first.endpoint.body["provider"]["only"] == ["minimax"]
    assert first.endpoint.body["provider"]["sort"] == "price"


def test_settings_of_the_file_lie_under_those_given(load):
    """A flag goes before `run:`, which goes before the default; all problems name their line."""
    text = "run:\n  retries: 7\n  limit: 20\n  vendor: siliconflow\n  vendor_path: plugins\n"
    text += "  set: [trigger.head=true, trigger.sample_size=2]\n" + PAGE
    configuration = load(text, KEYS, limit=30, set=("run.repeat=1", "trigger.sample_size=3"))
    options = configuration.options
    assert (options.retries, options.limit, options.timeout, options.repeat) == (7, 30, None, 1)
    assert options.vendor_path == (Path("plugins"),)
    chosen = configuration.suites["trigger"].chosen
    assert (chosen.head, chosen.sample_size) == (True, 3)
    assert [entry.vendor for entry in configuration.entries] == ["siliconflow"]


def test_options_of_evaluations_are_read_as_what_they_are(load, refusals):
    """The command line gives text, the file gives lists and numbers: both mean the same."""
    written = "suites: {trigger: {sample_size: 5, timeout_seconds: 1.5, filter_tags: [a, b]}}\n"
    typed = ("trigger.sample_size=5", "trigger.timeout_seconds=1.5", "trigger.filter_tags=a, b,")
    given = [load(written + PAGE, KEYS), load(PAGE, KEYS, set=typed)]
    first, second = (configuration.suites["trigger"].chosen for configuration in given)
    assert first == second
    assert (first.sample_size, first.timeout_seconds, first.filter_tags) == (5, 1.5, ("a", "b"))
    # An endless wait cannot be written into a manifest.
    (problem,) = refusals(PAGE, KEYS, set=("trigger.timeout_seconds=inf",))
    assert problem.key == "suites.trigger.timeout_seconds"


def test_problems_of_run_settings_have_lines(refusals):
    text = "run:\n  retires: 7\n  limit: 0\n  client: curl\n" + PAGE
    found = [(problem.line, problem.key, problem.message) for problem in refusals(text, KEYS)]
    assert found == [
        (2, "run.retires", "unknown key (did you mean `retries`?)"),
        (3, "run.limit", "read `0`; expected a number of at least 1"),
        (4, "run.client", "read the text `curl`; expected 'direct' or 'sdk'"),
    ]


def test_filters_come_before_keys(load):
    configuration = load(PAGE, "siliconflow=sk-abcdef0123456789\n", vendor=("siliconflow",))
    assert [entry.label for entry in configuration.entries] == ["siliconflow"]
    assert any("leaves out the baseline `minimax" in warning for warning in configuration.warnings)
    kept = load(PAGE, KEYS, vendor=("siliconflow",), baseline="openrouter")
    assert {entry.vendor: entry.is_baseline for entry in kept.entries} == {"openrouter": True, "siliconflow": False}
    by_label = load(PAGE, KEYS, model=("minimax-m2.5",), vendor=("minimax (openrouter)",))
    assert [entry.vendor for entry in by_label.entries] == ["openrouter"]


def test_accounts_are_equal_only_for_equal_origin_and_key(load):
    """Entries share an account by origin and key; without a key every address is one of its own."""
    config = """\
m:
  vendors:
    - {name: a, model_id: x, url: "https://API.example.com/v1", api_key_env: K1}
    - {name: b, model_id: x, url: "https://api.example.com:443/v2/", api_key: "${K1}"}
    - {name: c, model_id: x, url: "https://api.example.com/v1", api_key_env: K2}
    - {name: d, model_id: x, url: "https://api.example.com:8443/v1", api_key_env: K1}
    - {name: e, model_id: x, url: "http://127.0.0.1:1/e/v1"}
    - {name: f, model_id: x, url: "http://127.0.0.1:1/f/v1"}
"""
    accounts = [entry.account for entry in load(config, "K1=first-key\nK2=second-key\n").entries]
    assert accounts[0] == accounts[1]
    assert len(set(accounts)) == 5
    assert all(len(account) == 12 for account in accounts)


def test_two_entries_of_one_vendor_have_labels_or_providers(load):
    pinned = PAGE.replace("name: siliconflow", "name: openrouter\n      provider: deepinfra/fp8")
    assert [entry.label for entry in load(pinned, KEYS).entries][1] == "deepinfra/fp8 (openrouter)"
    labelled = PAGE + "    - {name: siliconflow, model_id: other, label: group B}\n"
    assert len(load(labelled, KEYS).entries) == 3


def test_simulated_vendors_keep_their_address_and_need_no_key(load):
    """``sim://persona`` stays as written, with one account a persona and no key even when one is set."""
    config = """\
simulated-model:
  vendors:
    - {name: simulated, label: a, model_id: m, url: "sim://faithful", is_baseline: true}
    - {name: simulated, label: b, model_id: m, url: "sim://faithful"}
    - {name: simulated, label: c, model_id: m, url: "sim://slow"}
"""
    configuration = load(config, "simulated=never-sent-anywhere\n")
    assert [entry.endpoint.base_url for entry in configuration.entries][::2] == ["sim://faithful", "sim://slow"]
    assert [entry.endpoint.key for entry in configuration.entries] == [None] * 3
    first, second, third = (entry.account for entry in configuration.entries)
    assert first == second != third
    assert configuration.warnings == ()


def test_merge_keys_are_understood(load):
    config = """\
m:
  vendors:
    - &base {name: a, model_id: x, url: "http://localhost:1", temperature: 0.3}
    - <<: *base
      name: b
"""
    assert [(e.label, e.parameters) for e in load(config).entries] == [
        ("a", {"temperature": 0.3}),
        ("b", {"temperature": 0.3}),
    ]


def test_plain_http_is_for_loopback_or_when_allowed(load):
    for host in ("127.0.0.1", "localhost", "[::1]", "127.8.8.8"):
        config = f'm: {{vendors: [{{name: a, model_id: m, url: "http://{host}:1/v1/"}}]}}'
        assert load(config).entries[0].endpoint.key is None
    config = "m: {vendors: [{name: a, model_id: m, url: http://10.0.0.1/v1, allow_http: true}]}"
    assert load(config, "a=some-key\n").entries[0].endpoint.base_url == "http://10.0.0.1/v1"


DEEPSEEK, SILICONFLOW = "name: deepseek", "name: siliconflow"


@pytest.mark.parametrize(
    ("model", "lines", "chosen", "expected", "warned"),
    [
        ("deepseek-v3.2", (SILICONFLOW, DEEPSEEK), (), "deepseek", ""),
        ("deepseek-v3.2", (SILICONFLOW, "name: openrouter, provider: deepseek"), (), "deepseek (openrouter)", ""),
        ("deepseek-v3.2", ("name: openrouter, provider: deepseek", DEEPSEEK), (), "deepseek", ""),
        ("kimi-k2", (SILICONFLOW, "name: openrouter, provider: moonshotai/"), (), "moonshotai (openrouter)", ""),
        ("deepseek-v3.2", (SILICONFLOW + ", is_baseline: true", DEEPSEEK), (), "siliconflow", ""),
        ("deepseek-v3.2", (SILICONFLOW + ", is_baseline: true", DEEPSEEK), ("deepseek",), None, "--vendor leaves out"),
        ("deepseek-v3.2", (SILICONFLOW,), (), None, "deepseek-v3.2: no baseline"),
        ("deepsek-v3.2", (SILICONFLOW + ", is_baseline: true",), (), "siliconflow", "did you mean `deepseek-v3.2`?"),
        ("kimi-k2", ("name: openrouter, is_baseline: true",), (), "openrouter", "vendors[0]: without `provider:`"),
    ],
)
def test_the_baseline_is_the_marked_entry_or_the_maker(load, model, lines, chosen, expected, warned):
    """The maker directly, or pinned behind a router; no other one where --vendor leaves out the marked one. Strange
    models and routers without a pin may be meant: a warning each."""
    keys = KEYS + "deepseek=k-deepseek\nmoonshot=k-moon\n"
    config = f"{model}:\n  vendors:\n" + "".join(f"    - {{model_id: m, {line}}}\n" for line in lines)
    configuration = load(config, keys, vendor=chosen)
    assert next((entry.label for entry in configuration.entries if entry.is_baseline), None) == expected
    assert warned in "\n".join(configuration.warnings)
    assert bool(warned) == bool(configuration.warnings)


@pytest.mark.parametrize(
    ("setting", "entry", "value", "warned"),
    [
        (
            "baseline_repeats: 2, duration: 5",
            "",
            "a-long-key",
            "baseline_repeats has no effect without the evaluation trigger",
        ),
        (
            "baseline_repeats: 5, suite: contract",
            "",
            "a-long-key",
            "baseline_repeats has no effect without the evaluation",
        ),
        ("head: true", "", "a-long-key", "head has no effect without limit"),
        ("head: true, limit: 3", "", "a-long-key", ""),
        ("workers: 4", "", "a-long-key", "workers has no effect without a second account"),
        ("", "temperature: 0.3, extra_body: {temperature: 0.9}", "a-long-key", "vendors[0].temperature: has no effect"),
        ("temperature: 1", "temperature: 0.3, extra_body: {temperature: 0.9}", "a-long-key", ""),
        ("", "max_tokens: 5, extra_body: {max_completion_tokens: 9}", "a-long-key", "max_tokens: has no effect"),
        ("", "provider: novita, is_baseline: true", "a-long-key", "provider: is a setting of OpenRouter"),
        ("", "", "abc12", "the value of `deepseek` has fewer than 6 characters"),
    ],
)
def test_settings_without_effect_are_warned_about(load, setting, entry, value, warned):
    """A setting that nothing in the run reads, and a key too short to be found in an answer."""
    config = f"run: {{{setting}}}\ndeepseek-v3.2: {{vendors: [{{name: deepseek, {entry}}}]}}"
    warnings = load(config, f"deepseek={value}\n").warnings
    assert (len(warnings), warned in "".join(warnings)) == (bool(warned), True)
