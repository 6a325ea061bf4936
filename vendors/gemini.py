"""Google Gemini, https://ai.google.dev/gemini-api/docs."""

from vendor_verifier.vendor import Vendor
from vendor_verifier.wire.gemini import Gemini


class GoogleGemini(Vendor):
    name = "gemini"
    base_url = "https://generativelanguage.googleapis.com/v1beta"
    wire = Gemini()
