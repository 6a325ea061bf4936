"""Google's generateContent protocol."""

from vendor_verifier.wire.gemini.request import Gemini

__all__ = ["Gemini"]
