"""Asks an installed bfcl_eval for its own verdicts: a JSON question a line in, a JSON answer a line out.

Runs in an environment of its own, beside `bfcl_eval` and its parsers only: the vendors' SDKs it imports are stubs here.
"""

from __future__ import annotations

import hashlib
import importlib.abc
import importlib.machinery
import io
import json
import sys
import tempfile
import types
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

_SDKS = frozenset(
    "datamodel_code_generator openai anthropic mistralai cohere boto3 botocore google qwen_agent writerai requests "
    "huggingface_hub transformers torch html2text bs4 serpapi rank_bm25 sentence_transformers faiss wandb tabulate "
    "typer pydantic httpx".split()
)


class _Anything(type):
    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (Exception,), {})

    def __getitem__(cls, _key: object) -> Any:
        return cls


class _Stub(types.ModuleType):
    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return _Anything(name, (Exception,), {})


class _Stubs(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name: str, path: object = None, target: object = None) -> Any:
        is_sdk = name.partition(".")[0] in _SDKS
        return importlib.machinery.ModuleSpec(name, self, is_package=True) if is_sdk else None

    def create_module(self, spec: Any) -> Any:
        return _Stub(spec.name)

    def exec_module(self, module: Any) -> None:
        module.__path__ = []


sys.meta_path.append(_Stubs())
_NATIVE, _WRITTEN = "gpt-4o-2024-11-20-FC", "gpt-4o-2024-11-20"


class Upstream:
    """The functions of bfcl_eval that answer a question each."""

    def __init__(self) -> None:
        from bfcl_eval import utils
        from bfcl_eval.constants.enums import Language, ReturnFormat
        from bfcl_eval.eval_checker import eval_runner, eval_runner_helper
        from bfcl_eval.model_handler import utils as model_utils
        from bfcl_eval.model_handler.api_inference.openai_completion import OpenAICompletionsHandler

        self.language, self.form = Language, ReturnFormat
        self.runner, self.helper, self.utils, self.model_utils = eval_runner, eval_runner_helper, utils, model_utils
        self.handlers = {}
        for native in (True, False):
            self.handlers[native] = object.__new__(OpenAICompletionsHandler)
            self.handlers[native].is_fc_model = native
        self.count = 0

    def decode(self, text: Any, form: str, tagged: bool) -> Any:
        decoded = self.model_utils.default_decode_ast_prompting(text, self.form(form), tagged)
        return {"decoded": repr(decoded)}

    def judge(self, **asked: Any) -> Any:
        handler, name = self.handlers[asked["native"]], _NATIVE if asked["native"] else _WRITTEN
        if "relevance" in asked["category"]:
            found = self.runner._evaluate_single_relevance_entry(
                handler, "x_0", asked["result"], {}, name, asked["category"]
            )
        else:
            language = "python" if asked["form"] not in ("java", "javascript") else asked["form"]
            found = self.runner._evaluate_single_ast_entry(
                handler, "x_0", asked["result"], asked["answer"], {"function": asked["functions"]}, name,
                asked["category"], self.language(language), self.form(asked["form"]), asked.get("tagged", False),
            )  # fmt: skip
        return {"valid": found["valid"], "error_type": found.get("error_type")}

    def multi_turn(self, entry: Any, answer: Any, result: Any, native: bool) -> Any:
        # Its simulated services live as long as the process, by model and row: every question is another model.
        self.count += 1
        found = self.runner._evaluate_single_multi_turn_entry(
            self.handlers[native], entry["id"], result, answer, entry, f"m{self.count}", entry["id"].rsplit("_", 1)[0]
        )
        return {"valid": found["valid"], "error_type": found.get("error", {}).get("error_type")}

    def prompt(self, functions: Any, config: str) -> Any:
        return {"prompt": self.model_utils.formulate_system_prompt(config, functions)}

    def sent(self, category: str) -> Any:
        """By id the digest of the messages of the first turn that a prompting model is sent."""
        found = {}
        for entry in self.utils.load_dataset_entry(category):
            handler = self.handlers[False]
            handler._pre_query_processing_prompting(entry)
            text = json.dumps(entry["question"][0], sort_keys=True)
            found[entry["id"]] = hashlib.sha256(text.encode()).hexdigest()
        return found

    def tables(self, scores: Any) -> Any:
        """The tables of vendor → category → its header of a score file; ``latency`` are seconds of calls."""
        table, known = {}, list(self.helper.MODEL_CONFIG_MAPPING)
        names = {}
        for vendor, name in zip(scores, known, strict=False):
            names[self.helper.MODEL_CONFIG_MAPPING[name].display_name] = vendor
            latency = scores[vendor].pop("latency")
            cost = {"input_data": [], "output_data": []}
            table[name.replace("/", "_")] = {**scores[vendor], "latency": {"data": latency}, "cost": cost}
        with tempfile.TemporaryDirectory() as folder:
            self.helper.generate_leaderboard_csv(table, Path(folder))
            return {
                "tables": {path.name: path.read_text(encoding="utf-8") for path in Path(folder).glob("*.csv")},
                "names": names,
            }


def main() -> None:
    upstream = Upstream()
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            with redirect_stdout(io.StringIO()):
                answer = getattr(upstream, asked.pop("ask"))(**asked)
        except Exception as error:  # noqa: BLE001 - a crash of upstream is an answer too
            answer = {"crash": f"{type(error).__name__}: {error}"[:300]}
        sys.stdout.write(json.dumps(answer) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
