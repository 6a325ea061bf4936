"""Rows as a pandas DataFrame whose columns have the dtypes of their definitions; pandas is loaded at first use."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from vendor_verifier.features.data.columns import Dtype, FrameKind
from vendor_verifier.wire.payload import well_formed

if TYPE_CHECKING:
    from pandas import DataFrame


def frame_of(kind: FrameKind[Any], rows: Iterable[Any]) -> DataFrame:
    """A row each, a column as ``kind`` defines it."""
    values: list[list[Any]] = [[] for _ in kind.columns]
    for row in rows:
        for column, found in zip(kind.columns, values, strict=True):
            found.append(column.value(row))
    return typed_frame((column.name, column.dtype, found) for column, found in zip(kind.columns, values, strict=True))


def typed_frame(columns: Iterable[tuple[str, Dtype, list[Any]]]) -> DataFrame:
    """The DataFrame of these columns: name, dtype and values, None where one is missing."""
    import pandas as pd

    return pd.DataFrame({name: _series(dtype, values) for name, dtype, values in columns})


def _series(dtype: Dtype, values: list[Any]) -> Any:
    import pandas as pd

    if dtype == "datetime64[ns, UTC]":
        moments = pd.to_datetime(pd.Series(values, dtype="object"), utc=True, format="ISO8601", errors="coerce")
        return moments.astype(dtype)
    if dtype == "string":
        # No table's format can write a lone surrogate.
        values = [None if value is None else well_formed(value) for value in values]
    return pd.array(values, dtype=dtype)
