"""A config folder to write into, and a loader that needs no more than text."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from vendor_verifier.config.load import Configuration, load_config
from vendor_verifier.config.run_config import RunOptions
from vendor_verifier.errors import ConfigError, Problem
from vendor_verifier.registry import Registry, find_vendors

Load = Callable[..., Configuration]
Refusals = Callable[..., tuple[Problem, ...]]


@pytest.fixture(scope="session")
def registry() -> Registry:
    return find_vendors()


@pytest.fixture
def load(tmp_path: Path, registry: Registry) -> Load:
    """Write config.yaml and .env (mode 0600) and load them, with no environment unless given."""

    def load(
        config: str, env: str | None = None, *, environ: Mapping[str, str] | None = None, **options: Any
    ) -> Configuration:
        path = tmp_path / "config.yaml"
        path.write_text(config, encoding="utf-8")
        if env is not None:
            (tmp_path / ".env").write_text(env, encoding="utf-8")
            (tmp_path / ".env").chmod(0o600)
        settings = {name: options.pop(name) for name in RunOptions.model_fields if name in options}
        made = RunOptions(config_file_path=path, **settings)
        return load_config(made, environ or {}, registry=registry, **options)

    return load


@pytest.fixture
def refusals(load: Load) -> Refusals:
    def refusals(*arguments: Any, **options: Any) -> tuple[Problem, ...]:
        with pytest.raises(ConfigError) as caught:
            load(*arguments, **options)
        problems = caught.value.problems
        assert all(str(problem) in str(caught.value) for problem in problems)
        return problems

    return refusals
