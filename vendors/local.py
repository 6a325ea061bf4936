"""vLLM, SGLang or llama.cpp on this machine; config.yaml gives another ``url`` where the port differs.

https://docs.vllm.ai, https://docs.sglang.ai, https://github.com/ggml-org/llama.cpp
"""

from vendor_verifier.vendor import OpenAICompatible


class Local(OpenAICompatible):
    name = "local"
    base_url = "http://127.0.0.1:8000/v1"
