"""From a config file to diagnoses: the wiring of an examination. It neither sends nor judges itself."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import anyio

from vendor_verifier.config import load_config
from vendor_verifier.doctor.asking import Patient, examine
from vendor_verifier.doctor.values import Diagnosis
from vendor_verifier.pipeline.simulation import with_simulated_vendors
from vendor_verifier.pipeline.wires import run_wires, wire_of
from vendor_verifier.registry import Registry, find_vendors
from vendor_verifier.run.proxies import require_proxies
from vendor_verifier.run.sdk_calls import SDK_OF_WIRE, require_sdks
from vendor_verifier.scrub import Scrubber
from vendor_verifier.values.plan import Entry
from vendor_verifier.wire.base import Wire


@dataclass(frozen=True, slots=True)
class DoctorRequest:
    """What the user asked for. ``env_file`` None means the ``.env`` beside the config."""

    config_file: Path
    env_file: Path | None = None
    vendor_paths: tuple[Path, ...] = ()
    models: tuple[str, ...] = ()
    vendors: tuple[str, ...] = ()
    sdk: bool = False
    tokenizer_model: str | None = None


@dataclass(frozen=True, slots=True)
class Visit:
    """What was found, with what is needed to tell it safely."""

    diagnoses: tuple[Diagnosis, ...]
    scrubber: Scrubber
    warnings: tuple[str, ...] = ()


def doctor(request: DoctorRequest, environ: Mapping[str, str]) -> Visit:
    """Examine every selected entry of a config.

    Raises:
        ConfigError: config.yaml or .env, all problems at once.
        UsageError: ``request.sdk`` without the SDKs that the entries need.
    """
    registry = find_vendors(request.vendor_paths)
    configuration = load_config(
        request.config_file,
        env_file=request.env_file,
        environ=environ,
        registry=registry,
        models=request.models,
        vendors=request.vendors,
    )
    if request.sdk:
        require_sdks({entry.wire for entry in configuration.entries} & SDK_OF_WIRE.keys())
    require_proxies((entry.endpoint.base_url for entry in configuration.entries), environ)
    scrubber = Scrubber(configuration.secrets)
    with with_simulated_vendors(configuration.entries, seed=0) as entries:
        wires = run_wires(entries, request.tokenizer_model)
        patients = [_patient(entry, registry, wires) for entry in entries]
        diagnoses = anyio.run(partial(examine, patients, environ, scrubber, sdk=request.sdk))
    broken = [f"vendor plugin {plugin.source} cannot be used: {plugin.error}" for plugin in registry.broken]
    return Visit(diagnoses, scrubber, (*configuration.warnings, *broken))


def _patient(entry: Entry, registry: Registry, wires: Mapping[str, Wire]) -> Patient:
    vendor = registry.vendor(entry.vendor)
    return Patient(entry, vendor, wire_of(entry, vendor, wires))
