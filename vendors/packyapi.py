"""PackyAPI: a reseller. No public source states its address, so config.yaml must give ``url``."""

from vendor_verifier.vendor import OpenAICompatible


class PackyApi(OpenAICompatible):
    name = "packyapi"
