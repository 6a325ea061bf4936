"""Frozen values that flow down the line: standard library and msgspec only, no behaviour beyond small derivations."""
