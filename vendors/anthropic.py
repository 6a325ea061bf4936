"""Anthropic, https://docs.anthropic.com."""

from vendor_verifier.vendor import Vendor
from vendor_verifier.wire.anthropic_messages import AnthropicMessages


class Anthropic(Vendor):
    name = "anthropic"
    base_url = "https://api.anthropic.com/v1"
    wire = AnthropicMessages()
