"""One run over many machines: a lease server that decides who may send, sessions that send, a coordinator that
knows which records there are.

Only the modules named ``dask_*`` know Dask; it starts our code on the workers and carries our messages. Everything else
here talks through a channel of dictionaries and would not notice another carrier.
"""

from __future__ import annotations
