"""README, CONTRIBUTING and docs/: blocks are run or read, and links lead somewhere."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from page_blocks import PAGES, PROGRAM, ROOT, Block, blocks, of_kind
from workbench import Bench

from vendor_verifier import verify
from vendor_verifier.cli.commands import build_app
from vendor_verifier.config.schema import json_schema
from vendor_verifier.registry import find_vendors

KINDS = {"sh", "python", "yaml", "json", "toml", "text", "tree"}
# Programs of others that pages show; test_dask_files runs openssl and dask.
OTHERS = {
    "chmod", "cp", "dask", "docker", "export", "journalctl", "kubectl", "make", "openssl", "pip", "pipx", "python",
    "sudo", "uvx",
}  # fmt: skip
COMMANDS = [(block, line) for block in of_kind("sh") for line in block.lines()]
# A library of others, a cluster that test_dask starts, and plugin files, which are loaded below.
RUN_ELSEWHERE = re.compile(r"load_dataset|LocalCluster|^# file: ")


def words_of(line: str) -> list[str]:
    """The words of a command without leading variables and a redirection."""
    words = shlex.split(line.partition(" > ")[0].partition(" >> ")[0])
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        words.pop(0)
    return words


def test_every_block_has_a_known_kind() -> None:
    """A block without a language is one to type; output is marked ``text``."""
    assert [str(block) for block in blocks() if block.kind not in KINDS] == []
    assert [str(block) for block in blocks() if block.kind == "text" and not block.info] == []


@pytest.mark.parametrize("block", of_kind("sh"), ids=str)
def test_the_shell_reads_it(block: Block) -> None:
    """No quote is left open, and every program is known."""
    assert subprocess.run(["bash", "-n", "-c", block.text], check=False).returncode == 0
    assert {words_of(line)[0] for line in block.lines()} <= {PROGRAM, *OTHERS}


@pytest.mark.parametrize(("block", "line"), COMMANDS, ids=lambda value: str(value))
def test_our_commands_parse(block: Block, line: str) -> None:
    words = words_of(line)
    if words[0] == "uvx":
        words = words[words.index(PROGRAM) :]
    if words[0] == PROGRAM:
        build_app().parse_args(words[1:], exit_on_error=False, print_error=False)


@pytest.fixture(scope="module")
def made_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("pages")


@pytest.mark.parametrize("page", sorted({block.page for block in of_kind("python")}))
def test_python_runs(page: str, made_once: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of a page, one after the other, as a reader would."""
    monkeypatch.chdir(made_once)
    if not Path("config.yaml").exists():
        Bench(made_once).configure("official: faithful", "other: quantised")
        rows = (ROOT / "datasets" / "samples.jsonl").read_text(encoding="utf-8").splitlines(keepends=True)
        Path("samples.jsonl").write_text("".join(rows[:25]), encoding="utf-8")
        verify("config.yaml", limit=5, output_dir="runs/demo")
    names: dict[str, object] = {}
    for block in of_kind("python"):
        if block.page == page and not RUN_ELSEWHERE.search(block.text):
            exec(compile(block.text, str(block), "exec"), names)


def test_plugins_of_the_vendors_page_load(tmp_path: Path) -> None:
    """A block that begins with ``# file: NAME`` is a plugin file."""
    for block in of_kind("python"):
        if found := re.match(r"# file: (\S+)\n", block.text):
            (tmp_path / found[1]).write_text(block.text, encoding="utf-8")
    registry = find_vendors([tmp_path])
    assert not registry.broken
    assert {"nebula", "comet"} <= set(registry.vendors)
    failure = registry.vendor("comet").classify(400, {}, b"you are out of credit")
    assert failure is not None
    assert failure.kind == "no_credit"


@pytest.mark.parametrize("block", of_kind("yaml"), ids=str)
def test_yaml_is_a_part_of_a_configuration(block: Block) -> None:
    errors = jsonschema_rs.validator_for(json_schema()).iter_errors(yaml.safe_load(block.text))
    assert [error.message for error in errors] == []


@pytest.mark.parametrize("page", [*PAGES, "CHANGELOG.md"])
def test_relative_links_lead_to_files(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    targets = re.findall(r"\]\((?!https?:|#)([^)#]+)", text)
    assert [target for target in targets if not ((ROOT / page).parent / target).exists()] == []


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = {words_of(line)[1] for _, line in COMMANDS if words_of(line)[0] == "make"}
    assert {"demo", "test"} <= targets
    assert [target for target in targets if f"\n{target}:" not in makefile] == []


def test_no_line_installs_this_product_from_the_index() -> None:
    """The index has the older 0.1.0 under the name, so a requirement that names it fetches the wrong program."""
    wrong = re.compile(r"agent-vendor-verifier\[|install\s+['\"]?agent[-_]vendor[-_]verifier")
    texts = [ROOT / "Makefile", ROOT / "CHANGELOG.md", *(ROOT / page for page in PAGES)]
    texts += [*(ROOT / "deploy").rglob("*.*"), *(ROOT / "vendor_verifier").rglob("*.py")]
    assert [path.name for path in texts if path.is_file() and wrong.search(path.read_text(encoding="utf-8"))] == []
