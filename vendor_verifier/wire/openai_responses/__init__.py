"""OpenAI's responses protocol."""

from vendor_verifier.wire.openai_responses.request import OpenAIResponses

__all__ = ["OpenAIResponses"]
