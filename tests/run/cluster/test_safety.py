"""Which addresses and which workers are refused, and what the user is told."""

from __future__ import annotations

import pytest
from changing import replace

from vendor_verifier.errors import UsageError
from vendor_verifier.records.plan import ExecutorChoice
from vendor_verifier.run.cluster.job import Hello
from vendor_verifier.run.cluster.workers import is_loopback, refuse_insecure, rejection_reason, scheduler_address, skew
from vendor_verifier.run.executors import check_choice

OURS = {"version": "1.2.0", "python": "3.11.7", "distributed": "2026.8.0"}
HELLO = Hello("Worker-1", "w0", "berlin", "1.2.0", "3.11.9", "2026.8.0", None, 0)


@pytest.mark.parametrize("address", ["tcp://10.0.0.5:8786", "tcp://scheduler:8786", "tcp://[2001:db8::1]:8786"])
def test_an_unencrypted_cluster_off_this_machine_is_refused(address: str) -> None:
    """Unless it is asked for in so many words."""
    with pytest.raises(UsageError, match="--insecure-cluster"):
        refuse_insecure([address], insecure_cluster=False)
    refuse_insecure([address], insecure_cluster=True)


@pytest.mark.parametrize(
    "address", ["tls://10.0.0.5:8786", "tcp://127.0.0.1:8786", "tcp://[::1]:8786", "tcp://localhost:1"]
)
def test_encryption_or_loopback_will_do(address: str) -> None:
    """What nobody else can read needs no further word."""
    refuse_insecure([address], insecure_cluster=False)


def test_a_name_that_only_begins_like_loopback_is_not() -> None:
    """The whole host counts."""
    assert not is_loopback("tcp://127.0.0.1.example.com:8786")
    assert not is_loopback("tcp://localhost.example.com:8786")


@pytest.mark.parametrize("text", ["", "scheduler", "http://h:1", "tls://h", "tls://h:port", "ucx://h:1"])
def test_what_is_no_scheduler_address_is_refused(text: str) -> None:
    """Only tcp and tls, with host and port."""
    with pytest.raises(UsageError, match="expected tls://HOST:PORT"):
        scheduler_address(text)


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        (ExecutorChoice(scheduler="tls://h:1"), "belong to --executor dask"),
        (ExecutorChoice(local_workers=2), "belong to --executor dask"),
        (ExecutorChoice("dask"), "needs one of"),
        (ExecutorChoice("dask", "tls://h:1", 2), "needs one of"),
        (ExecutorChoice("dask", "tcp://h:1"), "--insecure-cluster"),
    ],
)
def test_flags_that_cannot_be_meant_are_refused(choice: ExecutorChoice, words: str) -> None:
    """Each with what to do instead."""
    with pytest.raises(UsageError, match=words):
        check_choice(choice)


def test_a_worker_with_the_same_versions_and_keys_is_welcome() -> None:
    """Another patch version of Python changes nothing."""
    assert rejection_reason(HELLO, OURS) is None


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"version": "1.1.0"}, "version 1.1.0 instead of 1.2.0"),
        ({"python": "3.12.1"}, "python 3.12.1"),
        ({"distributed": "2026.7.0"}, "distributed 2026.7.0"),
        ({"missing": ("together", "openrouter")}, "no value for together, openrouter"),
        ({"problem": "no such folder"}, "no such folder"),
    ],
)
def test_a_worker_that_would_measure_something_else_is_refused(changes: dict[str, object], words: str) -> None:
    """The message names the worker, its machine and what differs."""
    reason = rejection_reason(replace(HELLO, **changes), OURS)
    assert reason is not None
    assert "worker w0 on berlin" in reason
    assert words in reason


def test_skew_is_the_offset_from_the_middle_of_the_question() -> None:
    """A clock 2 s ahead, read half-way through 10 ms, gives 2000 ms ± 5 ms."""
    hello = replace(HELLO, wall_ns=2_005_000_000)
    assert skew(hello, 0, 10_000_000) == (2000.0, 5.0)
