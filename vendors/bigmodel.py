"""BigModel, https://docs.bigmodel.cn."""

from vendor_verifier.vendor import OpenAICompatible


class BigModel(OpenAICompatible):
    name = "bigmodel"
    base_url = "https://open.bigmodel.cn/api/paas/v4"
