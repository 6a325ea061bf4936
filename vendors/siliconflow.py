"""SiliconFlow, https://docs.siliconflow.cn."""

from vendor_verifier.vendor import OpenAICompatible


class SiliconFlow(OpenAICompatible):
    name = "siliconflow"
    base_url = "https://api.siliconflow.cn/v1"
