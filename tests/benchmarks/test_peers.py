"""The list of peers and their pins."""

from __future__ import annotations

from pathlib import Path

import environments
import pytest
from peers import PEERS
from peers.peer import Peer

PINS = Path(__file__).parents[2] / "benchmarks" / "peers" / "pins"


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.title)
def test_a_peer_installs_the_versions_of_its_pins(peer: Peer) -> None:
    """What is asked for stands in the pins with the same version, so that pip cannot find a contradiction."""
    pinned = (PINS / f"{peer.pins}.txt").read_text().splitlines()
    assert set(peer.requirements) <= set(pinned)


def test_peers_that_share_an_environment_do_not_make_it_anew_for_each_other() -> None:
    """Equal pins mean an equal recipe, so one installation serves all."""
    recipes = {(peer.pins, environments.recipe(peer, "")) for peer in PEERS}
    assert len(recipes) == len({peer.pins for peer in PEERS})


def test_every_peer_is_in_its_pins_with_its_version() -> None:
    """A new version changes the pins, and so the recipe, even where the peer itself is not installed by pip."""
    for peer in PEERS:
        pinned = (PINS / f"{peer.pins}.txt").read_text().splitlines()
        assert [line for line in pinned if line.endswith(f"=={peer.version}")], peer.title


@pytest.mark.parametrize("pins", sorted(PINS.glob("*.txt")), ids=lambda path: path.stem)
def test_pins_are_names_and_versions_only(pins: Path) -> None:
    """No index, no host and no path is in them."""
    lines = [line for line in pins.read_text().splitlines() if not line.startswith("#")]
    assert lines
    assert [line for line in lines if len(line.split("==")) != 2 or "/" in line or " " in line] == []


def test_an_environment_is_made_anew_when_its_pins_change() -> None:
    """The recipe differs, and with equal pins it does not."""
    one = environments.recipe(PEERS[0], "a==1\n")
    assert one != environments.recipe(PEERS[0], "a==2\n")
    assert one == environments.recipe(PEERS[0], "a==1\n")


def test_pips_errors_are_the_reason() -> None:
    """Warnings and hints around them are not."""
    said = "WARNING: old\nERROR: x and y conflict\n\nERROR: ResolutionImpossible\nhint: try again"
    assert environments.last_words(said) == "ERROR: x and y conflict; ERROR: ResolutionImpossible"
