"""Writes a tiny model of random weights and serves it by llama.cpp until its input ends.

.world/llama/bin/python llama_server.py FILE.gguf PORT
"""

from __future__ import annotations

import sys

import gguf
import numpy as np
import xllamacpp

WIDTH, INNER, HEADS = 64, 128, 4
LETTERS = [chr(code) for code in range(ord("a"), ord("z") + 1)]
TOKENS = ["<unk>", "<s>", "</s>", *(f"<0x{byte:02X}>" for byte in range(256)), "▁", *LETTERS]


def write_model(path: str) -> None:
    """One layer of random weights and a vocabulary of bytes and letters."""
    kind = gguf.TokenType
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_context_length(4096)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_vocab_size(len(TOKENS))
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_token_types([kind.UNKNOWN, kind.CONTROL, kind.CONTROL, *[kind.BYTE] * 256, *[kind.NORMAL] * 27])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    writer.add_chat_template("{% for message in messages %}{{ message['content'] }}{% endfor %}")
    random = np.random.default_rng(0)

    def weights(*shape: int) -> np.ndarray:
        return (random.standard_normal(shape) * 0.05).astype(np.float32)

    # Letters only: a stray byte would be no text.
    scores = weights(len(TOKENS), WIDTH)
    scores[:-26] = 0
    tensors = {
        "token_embd": weights(len(TOKENS), WIDTH),
        "output": scores,
        **dict.fromkeys(("output_norm", "blk.0.attn_norm", "blk.0.ffn_norm"), np.ones(WIDTH, np.float32)),
        **{f"blk.0.attn_{name}": weights(WIDTH, WIDTH) for name in ("q", "k", "v", "output")},
        **{f"blk.0.ffn_{name}": weights(INNER, WIDTH) for name in ("gate", "up")},
        "blk.0.ffn_down": weights(WIDTH, INNER),
    }
    for name, tensor in tensors.items():
        writer.add_tensor(f"{name}.weight", tensor)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    path, port = sys.argv[1:]
    write_model(path)
    asked = xllamacpp.CommonParams()
    asked.model.path = path
    asked.port = int(port)
    asked.n_parallel = 4
    asked.n_ctx = 4 * 4096
    asked.n_threads_http = 32
    asked.cpuparams.n_threads = 1
    asked.ui = False
    _server = xllamacpp.Server(asked)
    sys.stdin.read()
