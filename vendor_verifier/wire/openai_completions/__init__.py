"""Raw completions: the prompt is a text that our own chat template made."""

from vendor_verifier.wire.openai_completions.request import OpenAICompletions

__all__ = ["OpenAICompletions"]
