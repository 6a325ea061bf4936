"""A search for capacity over real Dask processes: each level one load, one account book, by the server's own log.

A worker that is lost is our trouble, and what it spoilt is held against nobody.
"""

from __future__ import annotations

import json
import signal
import subprocess
from collections import Counter
from collections.abc import Iterator
from itertools import islice
from typing import Any

import pytest
from clusters import Cluster, Site, adapting_cluster, cluster_of, site, vendors
from costs import PATIENCE_S
from distributed import Client
from shaped_runs import offered_in

from vendor_verifier import find_capacity
from vendor_verifier.cli.main import run_app
from vendor_verifier.run.load_lane import due_times
from vendor_verifier.values.plan import LoadShape

__all__ = ["site", "vendors"]
pytestmark = pytest.mark.slow  # clusters of real processes
SAMPLES = 8
# Times say nothing here: the machine may be busy.
CALM = ("--slo", "ttft.p95 <= 60000", "-n", str(SAMPLES))
EXITS = (0, 1, 3)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A scheduler and two workers that outlive a single test."""
    with cluster_of(tmp_path_factory.mktemp("cluster"), 2) as running:
        running.wait_for_workers()
        yield running


def begun(site: Site, cluster: Cluster, *words: str) -> subprocess.Popen[str]:
    return site.start(
        "out", "--executor", "dask", "--dask-address", cluster.address, *CALM, *words, quiet=False, job="capacity"
    )


def search(site: Site, cluster: Cluster, *words: str) -> dict[str, Any]:
    """The vendor's part of capacity.json after a whole search."""
    running = begun(site, cluster, *words)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode in EXITS, err
    return found_in(site)


def found_in(site: Site) -> dict[str, Any]:
    (found,) = json.loads((site.folder / "out" / "capacity.json").read_text())["capacity"]["vendors"]
    return dict(found)


def senders(site: Site) -> dict[str, Counter[str]]:
    """By session, how many counted records each worker sent."""
    sent: dict[str, Counter[str]] = {}
    for record in site.records("out"):
        sent.setdefault(record["run"].partition(":")[2], Counter())[record["worker"]] += 1
    return sent


def test_a_level_is_one_load_over_a_cluster(site: Site, cluster: Cluster) -> None:
    """Six in flight are six over both workers, never seven; as many came as are told; what is asked one after the other
    comes from both, too, so that a level is compared with the same ways to the vendor."""
    site.configure("v: faithful", samples=SAMPLES)
    found = search(site, cluster, "--sweep", "2,6")
    assert site.vendors.most_in_flight["faithful"] == 6
    assert found["requests"] == len(site.vendors.arrived_at)
    assert [(one["stage"], one["level"], one["processes"]) for one in found["sittings"][:3]] == [
        ("unloaded", 1, 2),
        ("level", 2, 2),
        ("level", 6, 2),
    ]
    for name, shares in senders(site).items():
        assert shares.keys() == {"w0", "w1"}, name
    assert senders(site)["unloaded"] == {"w0": SAMPLES, "w1": SAMPLES}
    assert {one["lost"] for one in found["sittings"]} == {0}


def test_requests_of_a_rate_are_due_by_the_one_schedule(site: Site, cluster: Cluster) -> None:
    """Poisson moments of one process, warm-up taken off; by the server's log as many came as were due and told."""
    site.configure("v: faithful", samples=SAMPLES)
    found = search(site, cluster, "--by", "rate", "--sweep", "20")
    level = [record for record in site.records("out") if ":20:" in record["run"]]
    shape = LoadShape(request_rate=20, arrival="poisson")
    expected = [due.at_s for due in islice(due_times(shape, 0), 20, 20 + len(level))]
    assert offered_in(level) == pytest.approx(expected)
    assert len(level) == 200
    assert found["requests"] == len(site.vendors.arrived_at)


def test_the_books_come_back_between_levels(site: Site, cluster: Cluster) -> None:
    """Money is counted over all levels, and ends the search; so is time."""
    site.configure("v: faithful", samples=SAMPLES, settings="price: {input: 10, output: 10}")
    found = search(site, cluster, "--sweep", "2,4,8,16", "--max-cost", "0.02")
    assert (found["reason"], found["sittings"][-1]["stage"]) == ("cost", "level")
    assert len(found["sittings"]) > 2
    assert found["requests"] == len(site.vendors.arrived_at)


@pytest.mark.lateness  # as in the command itself
def test_a_level_in_which_a_worker_died_is_sent_again(site: Site, cluster: Cluster) -> None:
    """It is told, nothing of it is judged, not by a later judgement either, and the level is asked once more whole."""
    site.configure("v: slow", samples=SAMPLES)
    victim = cluster.start_worker()
    cluster.wait_for_workers()
    running = begun(site, cluster, "--sweep", "6")
    site.vendors.wait_for(1 + 2 * SAMPLES + 12)
    victim.send_signal(signal.SIGKILL)
    _, err = running.communicate(timeout=PATIENCE_S)
    assert running.returncode in EXITS, err
    found = found_in(site)
    levels = [one for one in found["sittings"] if one["stage"] == "level"]
    assert [(one["lost"], one["cut"]) for one in levels[:2]] == [(1, None), (0, None)]
    assert levels[1]["first_repetition"] == levels[0]["repetitions"]
    (point,) = [point for point in found["points"] if point["stage"] == "level"]
    own = [record for record in site.records("out") if record["run"] == levels[1]["name"]]
    assert point["requests"] >= len(own) == levels[1]["repetitions"] * SAMPLES
    assert point["failures"] == {}
    assert any("nothing of it is held against the vendor" in note for note in found["notes"])
    assert site.vendors.most_in_flight["slow"] <= 6
    run_app(["capacity", "--from", str(site.folder / "out")])
    again = found_in(site)
    told = [[(one["level"], one["outcome"], one["requests"]) for one in each["points"]] for each in (found, again)]
    assert told[0] == told[1]
    assert again["notes"] == found["notes"]


def test_a_worker_that_hangs_leaves_its_level_unmeasured(site: Site, cluster: Cluster) -> None:
    """Its requests may still be in flight, so that no level may follow; nothing of it is the vendor's."""
    site.configure("v: slow", samples=SAMPLES)
    victim = cluster.start_worker()
    cluster.wait_for_workers()
    running = begun(site, cluster, "--sweep", "6,8", "--dask-hang-after", "3")
    site.vendors.wait_for(1 + 2 * SAMPLES + 12)
    victim.send_signal(signal.SIGSTOP)
    _, err = running.communicate(timeout=PATIENCE_S)
    victim.kill()
    assert running.returncode == 3, err
    found = found_in(site)
    assert (found["reason"], found["broke_at"], found["gave_way"]) == ("workers", None, [])
    assert [(one["level"], one["cut"]) for one in found["sittings"]] == [(1, None), (6, "workers")]
    assert "workers of ours were lost" in err
    assert site.vendors.most_in_flight["slow"] <= 6


def test_a_scheduler_that_is_not_there_or_dies_is_one_sentence(site: Site, cluster: Cluster) -> None:
    """Before anything was sent no folder is left; afterwards what was found is."""
    site.configure("v: faithful", samples=SAMPLES)
    with cluster_of(site.folder / "own", 1) as own:
        own.wait_for_workers()
        running = begun(site, own, "--sweep", "2,4,6")
        site.vendors.wait_for(1 + 2 * SAMPLES + 4)
        assert own.scheduler is not None
        own.scheduler.kill()
        _, err = running.communicate(timeout=PATIENCE_S)
        assert running.returncode == 4, err
        assert err.splitlines()[-1] == "error: the scheduler went away; start a new search when it is back"
        assert "Traceback" not in err
        assert found_in(site)["points"][0]["stage"] == "unloaded"
        words = ("--test-file-path", str(site.folder / "samples.jsonl"), "-o", str(site.folder / "none"))
        where = ("--config-file-path", str(site.folder / "config.yaml"), "--executor", "dask", "--dask-address")
        code = run_app(["capacity", *where, own.address, *words])
    assert code == 2
    assert not (site.folder / "none").exists()


def test_a_client_whose_cluster_adapts_to_the_work(site: Site) -> None:
    """From no worker at all, passed in from a program: workers come, none is lost by scaling, no limit is passed."""
    site.configure("v: slow", samples=40)
    with adapting_cluster() as scaling, Client(scaling) as client:
        outcome = find_capacity(
            site.folder / "config.yaml",
            samples=site.folder / "samples.jsonl",
            output_dir=site.folder / "out",
            dask_client=client,
            limit=40,
            sweep="4,60",
            slo=("ttft.p95 <= 60000",),
        )
        assert client.submit(sum, [1, 2]).result(PATIENCE_S) == 3
    (vendor,) = outcome.report.vendors
    assert [one.level for one in vendor.sittings][:3] == [1, 4, 60]
    assert {one.lost for one in vendor.sittings} == {0}
    # How soon the cluster brings more is its own affair.
    assert min(one.processes for one in vendor.sittings) >= 1
    assert site.vendors.most_in_flight["slow"] == 60
    assert vendor.requests == len(site.vendors.arrived_at)
