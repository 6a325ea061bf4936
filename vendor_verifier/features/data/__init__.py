"""A run as DataFrames, and its tables as files."""

from typing import Literal

TableFormat = Literal["csv", "parquet", "jsonl"]
