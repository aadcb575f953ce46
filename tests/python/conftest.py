"""What the tests of the Python package share."""

from pathlib import Path

import goodness as g
import pytest

#: Work that takes a fraction of a second.
SMALL = "mixed:duration=500ms"


@pytest.fixture(scope="session")
def small() -> g.Comparison:
    """A comparison of three policies on small work."""
    return g.compare(SMALL, policies=["eevdf", "rr", "o1"], runs=4, seed=7)


@pytest.fixture(scope="session")
def recorded() -> g.Comparison:
    """A comparison on a shipped recording, with every table filled."""
    return g.compare("apache-ab-c4-1cpu", arms=["eevdf:base_slice=6ms"], runs=3)


def define(folder: Path, tasks: int, duration: str, seeds: int, name: str = "s.toml") -> Path:
    """A sweep of `tasks` times `seeds` times two cells."""
    text = f"""
metric = "wakeup_latency_p50"
runs = 1
seeds = {list(range(1, seeds + 1))}
inputs = ["sleepers:tasks={{tasks}},duration={duration}"]
arms = ["eevdf", "rr"]
[space]
tasks = {list(range(2, 2 + tasks))}
"""
    file = folder / name
    file.write_text(text)
    return file
