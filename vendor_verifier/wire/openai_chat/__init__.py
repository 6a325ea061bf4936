"""Chat completions, the protocol that OpenAI defined and most vendors speak."""

from vendor_verifier.wire.openai_chat.request import OpenAIChat

__all__ = ["OpenAIChat"]
