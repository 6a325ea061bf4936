"""One run over many machines: a gate that decides who may send, sessions that send, a coordinator that owns the truth.

Only the modules named ``dask_*`` know Dask; it starts our code on the workers and carries our messages. Everything else
here talks through a channel of dictionaries and would not notice another carrier.
"""

from __future__ import annotations
