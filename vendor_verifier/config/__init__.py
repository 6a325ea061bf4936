"""config.yaml and .env into entries, with messages that name file, line and key; nothing is sent or exported."""

from vendor_verifier.config.entries import describe
from vendor_verifier.config.env_file import read_environment
from vendor_verifier.config.load import Configuration, load_config

__all__ = ["Configuration", "describe", "load_config", "read_environment"]
