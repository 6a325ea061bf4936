"""The shipped vendor plugins, importable as ``vendor_verifier.vendors.<file>``; the files lie in ``vendors/``."""

from vendor_verifier.resources import shipped

__path__ = [str(shipped("vendors"))]
