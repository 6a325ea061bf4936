"""Tool calls by the verdict on their arguments, and the shares made of them.

lenient: (valid + empty_arguments + valid_in_dialect) ÷ (calls − schema_unusable − not_judged). A ``""`` for a tool
without required arguments means ``{}``, a schema in a dialect means what its users mean, and a schema that cannot judge
is the data set's defect.
strict: valid ÷ (calls − not_judged), as K2-Vendor-Verifier's result files count.
per response (K2-Vendor-Verifier's unit): responses whose every counted call is valid ÷ responses with a counted call.

tool_call_error_rate = requests with a bad call ÷ answered requests that declared tools, as OpenRouter publishes it for
its providers (https://openrouter.ai/docs/guides/routing/auto-exacto). A call is bad with arguments that are no JSON
(``""`` is none), an unknown name, or arguments that its schema rejects. An answer without calls counts, as good; a
failure does not count; nor does a request whose calls could not be judged, unless one of them is bad.

0 ÷ 0 is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from vendor_verifier.records.manifest import SchemaPolicy

VALID: Mapping[SchemaPolicy, frozenset[str]] = {
    "lenient": frozenset({"valid", "empty_arguments", "valid_in_dialect"}),
    "strict": frozenset({"valid"}),
}
NOT_COUNTED: Mapping[SchemaPolicy, frozenset[str]] = {
    "lenient": frozenset({"schema_unusable", "not_judged"}),
    "strict": frozenset({"not_judged"}),
}
BAD = frozenset({"invalid_json", "unknown_tool", "schema_mismatch", "empty_arguments"})
Words = list[str]


def of_words(column: pd.Series[Any], of: Callable[[Words], float]) -> Any:
    """A number of every row's words, which have commas between them, as an array; equal rows are looked at once."""
    found = [of(str(words).split(",")) for words in column.cat.categories]
    return np.array([*found, of([])], dtype=float)[column.cat.codes.to_numpy()]


def valid_calls(column: pd.Series[Any], policy: SchemaPolicy = "lenient") -> Any:
    """The number of valid calls of every row of ``classes``."""
    return of_words(column, lambda classes: sum(each in VALID[policy] for each in classes))


def counted_calls(column: pd.Series[Any], policy: SchemaPolicy = "lenient") -> Any:
    """The number of calls of every row that count."""
    return of_words(column, lambda classes: sum(each not in NOT_COUNTED[policy] for each in classes))


def has_bad_call(column: pd.Series[Any]) -> Any:
    """1 for a row with a bad call, 0 for one without, NaN where it is not known."""
    return of_words(column, lambda classes: 1.0 if BAD & set(classes) else np.nan if "not_judged" in classes else 0.0)
