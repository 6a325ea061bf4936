"""Every code block of README, CONTRIBUTING and docs/ is run, or held in a way that is stated here.

The light part: commands are parsed by the command line, Python that needs nothing is run, the configuration's schema
takes the YAML. `test_shown_commands.py` runs the commands.
"""

from __future__ import annotations

import json
import shlex
import subprocess
from pathlib import Path

import jsonschema_rs
import pytest
import yaml
from page_blocks import PROGRAM, ROOT, Block, blocks, of_kind

from vendor_verifier.cli.commands import build_app

KINDS = {
    "sh": "product commands are parsed here and run by test_shown_commands; the programs of others are in OTHERS",
    "python": "run here, or by the test in RUN_BY",
    "yaml": "a part of config.yaml, which its schema takes",
    "json": "read here, and by the test of its page",
    "toml": "read here; docs/vendors.md's by test_packaging",
    "text": "output, grammar or a drawing",
    "tree": "a drawing of folders",
    "console": "usage of a command, written by scripts/make_cli_page.py",
}
# What needs more than the block: files, runs, servers or a copy of the package. The test runs it.
RUN_BY = {
    "docs/api.md": "test_api.py",
    "docs/data.md": "features/data/test_tables.py",
    "docs/records.md": "test_record_schema.py",
    "docs/vendors.md": "test_docs_vendors.py",
    "docs/distributed.md": "run/test_dask.py",
    "README.md": "test_readme.py",
}
# Nothing runs these: a library and a service of others.
NOT_RUN = {"docs/datasets.md": "load_dataset", "docs/tutorial.md": "load_run"}
# Programs of others that pages tell to type, and why no test types them. The shell reads them all the same.
OTHERS = {
    "make": "test_readme looks for the target; CI runs it",
    "cp": "of files that test_readme looks for",
    "chmod": "of these",
    "export": "of names that test_dask_files starts processes with",
    "python": "prints the schema that reports/test_files.py holds",
    "openssl": "run by test_dask_files",
    "dask": "run by test_dask_files, in the files' own words",
    "pip": "test_installing reads the line; the newcomer's test installs the wheel",
    "pipx": "as pip; tried by hand",
    "uvx": "as pip; tried by hand",
    "sudo": "changes the machine",
    "docker": "there is no Docker where tests run; test_deploy_files reads the Dockerfile",
    "kubectl": "there is no cluster where tests run; test_deploy_files reads the manifests",
    "journalctl": "shows the machine's log",
}
CONFIG = """\
simulated-model:
  vendors:
    - {name: simulated, label: official, model_id: simulated-model, url: "sim://faithful", is_baseline: true}
    - {name: simulated, label: other, model_id: simulated-model, url: "sim://faithful"}
"""
SHELL = of_kind("sh")
PYTHON = [block for block in of_kind("python") if block.page not in RUN_BY]
COMMANDS = [(block, line) for block in SHELL for line in block.lines()]


def words_of(line: str) -> list[str]:
    """The words of a command without what the shell itself does: variables before it, a redirection behind it."""
    words = shlex.split(line.partition(" > ")[0].partition(" >> ")[0])
    while words and "=" in words[0] and words[0].partition("=")[0].isidentifier():
        words.pop(0)
    return words


def test_every_block_is_of_a_kind_that_something_holds() -> None:
    """A block without a language must be something to type; output is marked ``text``."""
    assert [str(block) for block in blocks() if block.kind not in KINDS] == []
    assert [str(block) for block in blocks() if block.kind == "text" and not block.info] == []


@pytest.mark.parametrize("block", SHELL, ids=str)
def test_the_shell_reads_it(block: Block) -> None:
    """No quote is left open, and every program is ours or one that is named above."""
    assert subprocess.run(["bash", "-n", "-c", block.text], check=False).returncode == 0
    programs = {words_of(line)[0] for line in block.lines()}
    assert programs <= {PROGRAM, *OTHERS}


@pytest.mark.parametrize(("block", "line"), COMMANDS, ids=lambda value: str(value))
def test_every_command_is_one_of_ours(block: Block, line: str) -> None:
    """Its flags are known to it, and their values are what they take."""
    words = words_of(line)
    if words[0] == "uvx":
        words = words[words.index(PROGRAM) :]
    if words[0] == PROGRAM:
        build_app().parse_args(words[1:], exit_on_error=False, print_error=False)


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_runs(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In a folder with a config.yaml, each block by itself."""
    (tmp_path / "config.yaml").write_text(CONFIG, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    code = compile(block.text, str(block), "exec")
    if NOT_RUN.get(block.page, "\0") not in block.text:
        exec(code, {})


@pytest.mark.parametrize("page", RUN_BY)
def test_a_page_whose_python_is_run_elsewhere_is_read_there(page: str) -> None:
    """The file is there and names the page."""
    assert Path(page).name in (ROOT / "tests" / RUN_BY[page]).read_text(encoding="utf-8")
    assert [block for block in of_kind("python") if block.page == page]


@pytest.mark.parametrize("block", of_kind("yaml"), ids=str)
def test_yaml_is_a_part_of_a_configuration(block: Block) -> None:
    """The schema of config.yaml takes it: every key is one, and every value one that it may have."""
    schema = json.loads((ROOT / "config.schema.json").read_text(encoding="utf-8"))
    errors = [error.message for error in jsonschema_rs.validator_for(schema).iter_errors(yaml.safe_load(block.text))]
    assert errors == []


@pytest.mark.parametrize("block", of_kind("json"), ids=str)
def test_json_is_json(block: Block) -> None:
    """One object."""
    assert isinstance(json.loads(block.text), dict)
