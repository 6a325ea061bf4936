"""Anthropic's messages protocol."""

from vendor_verifier.wire.anthropic_messages.request import AnthropicMessages

__all__ = ["AnthropicMessages"]
