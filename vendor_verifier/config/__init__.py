"""config.yaml, .env and the settings of a run."""
