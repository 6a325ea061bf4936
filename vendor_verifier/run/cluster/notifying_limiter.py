"""The limiter of a whole run, which says what has ended: an account, an entry, the run. It permits as any other."""

from __future__ import annotations

from collections.abc import Callable

from vendor_verifier.records.plan import Entry
from vendor_verifier.run.rate_limiter import LocalLimiter


class NotifyingLimiter(LocalLimiter):
    """A limiter that reports every account and entry that is finished, and the end of the run."""

    on_stop: Callable[[str], None]
    on_refusal: Callable[[Entry], None]
    on_close: Callable[[], None]

    def stop(self, entry: Entry, reason: str) -> None:
        super().stop(entry, reason)
        if entry.account not in self.stopped:
            self.on_refusal(entry)

    def _stop_account(self, account: str, reason: str) -> None:
        super()._stop_account(account, reason)
        self.on_stop(account)

    def close(self) -> None:
        super().close()
        self.on_close()
