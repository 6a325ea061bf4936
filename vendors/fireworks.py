"""Fireworks AI, https://docs.fireworks.ai."""

from vendor_verifier.vendor import OpenAICompatible


class Fireworks(OpenAICompatible):
    name = "fireworks"
    base_url = "https://api.fireworks.ai/inference/v1"
