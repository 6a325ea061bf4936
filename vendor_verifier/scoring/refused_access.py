"""A vendor that refused our key or our credit to everything told nothing of itself: no figure counts its refusals.

Where it answered anything the refusals stay failed samples, or a vendor could hide its failures behind them.
"""

from __future__ import annotations

from vendor_verifier.records.failures import DENIED, NOT_SENT
from vendor_verifier.scoring.observation_table import ObservationTable


def excuse_refused_access(table: ObservationTable) -> None:
    """Charge no row to a vendor that refused our key or credit whenever it was asked."""
    failures = {traits.failure for traits in table.kinds()}
    if failures & DENIED and failures <= DENIED | NOT_SENT:
        table.excuse()
