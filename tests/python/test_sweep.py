"""Sweeps: the same bytes here, from the command line and on Ray, and through faults of a cluster."""

from __future__ import annotations

import contextlib
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import goodness as g
import pytest
from conftest import define
from goodness import _ray

COMMAND = [sys.executable, "-m", "goodness", "sweep"]
#: Faults of each kind: workers, nodes, drivers.
FAULTS = int(os.environ.get("GOODNESS_RAY_FAULTS", "2"))
#: Simulated seconds of a cell for each of them: a release build on an idle machine needs so many.
LENGTH = 60


def shards(sweep: g.Sweep | Path) -> dict[str, bytes]:
    folder = sweep if isinstance(sweep, Path) else sweep.folder
    return {path.name: path.read_bytes() for path in (folder / "shards").glob("*.parquet")}


def test_a_sweep_has_the_same_bytes_from_python_and_from_the_command_line(tmp_path: Path) -> None:
    file = define(tmp_path, 3, "50ms", 4)
    here = g.sweep(file, folder=tmp_path / "here")
    subprocess.run([*COMMAND, file, "--folder", tmp_path / "there"], check=True, capture_output=True)
    assert shards(here) == shards(tmp_path / "there") != {}
    assert (here.cells, here.failed) == (24, [])
    frame = here.to_polars()
    assert set(frame["arm"].unique()) == {"eevdf", "rr"}
    assert frame.filter(metric="wakeup_latency_p50").height == 24
    assert len(here.to_pandas()) == frame.height


def test_failed_cells_are_told_and_the_others_are_there(tmp_path: Path) -> None:
    file = define(tmp_path, 2, "50ms", 1)
    file.write_text(file.read_text().replace("[2, 3]", "[0, 3]"))
    done = g.sweep(file)
    assert [arm for arm, _, _ in done.failed] == ["eevdf", "rr"]
    assert "tasks" in done.failed[0][2]
    assert done.to_polars()["cell"].n_unique() == 2


def test_bad_sweeps_are_refused_with_place_and_remedy(tmp_path: Path) -> None:
    file = define(tmp_path, 2, "50ms", 1)
    with pytest.raises(g.UsageError, match="is no cluster; write"):
        g.sweep(file, on="slurm")
    with pytest.raises(g.UsageError, match="2/8"):
        g.sweep(file, part="3/2")
    file.write_text(file.read_text().replace("{tasks}", "{task}"))
    with pytest.raises(g.UsageError, match="s.toml: .*there is no parameter task"):
        g.sweep(file)


def test_the_share_to_recheck_is_a_share(tmp_path: Path) -> None:
    from goodness import _sweep

    assert [_sweep.share(it) for it in ("0.1%", "1%", 0.5, "0")] == [0.001, 0.01, 0.5, 0.0]
    for wrong in ("2", "-1%", "many", "%"):
        with pytest.raises(g.UsageError, match="write a share such as 0.1%"):
            _sweep.share(wrong)
    with pytest.raises(g.UsageError, match="name the cluster with on"):
        g.sweep(define(tmp_path, 1, "50ms", 1), recheck="1%")
    line = b'{"cell":"' + b"00418937" + b'"}'
    assert _ray.is_checked(line, 0.001) and not _ray.is_checked(line, 0.0009)


ray = pytest.importorskip("ray", reason="the package ray is not installed; pip install 'goodness[ray]'")


@pytest.fixture()
def place(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder of the clusters of one test: their processes name it. Nothing of them is left."""
    # Ray's sockets need a short path.
    folder = Path(tempfile.mkdtemp(prefix="gr"))
    monkeypatch.setenv("RAY_TMPDIR", str(folder))
    yield folder
    stop(folder)
    shutil.rmtree(folder, ignore_errors=True)


def started(place: Path, pattern: str) -> list[int]:
    """Processes of the clusters of this test whose command line matches."""
    command = ["pgrep", "-f", "--", f"{pattern}.*{place}"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split()
    return [int(pid) for pid in found if int(pid) != os.getpid()]


def children(raylets: list[int], pattern: str) -> list[int]:
    """Children of these processes whose command line matches."""
    command = ["pgrep", "-P", ",".join(map(str, raylets)), "-f", "--", pattern]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout.split() if raylets else []
    return [int(pid) for pid in found]


def kill(pids: list[int]) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def stop(place: Path) -> None:
    """Ends the clusters of this test."""
    kill(children(started(place, "raylet/raylet"), "."))
    kill(started(place, ""))


class Driver:
    """The command that sweeps on Ray, and what it acknowledged."""

    def __init__(self, file: Path, folder: Path, address: str = "") -> None:
        environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0", "RAY_ADDRESS": address}
        words = [*COMMAND, str(file), "--folder", str(folder), "--on", "ray"]
        self.process = subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        self.journal = folder / "journal" / "1-of-1.jsonl"
        self.cells = self.journaled()

    def journaled(self) -> list[str]:
        """Acknowledged cells, in order, without a line that is being written."""
        text = self.journal.read_text() if self.journal.exists() else ""
        return [json.loads(line)["cell"] for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def goes_on(self, at_most: float = 60.0) -> bool:
        """Waits until more cells are acknowledged. False if it ends before."""
        deadline = time.monotonic() + at_most
        while time.monotonic() < deadline and self.process.poll() is None:
            if len(cells := self.journaled()) > len(self.cells):
                assert cells[: len(self.cells)] == self.cells, "an acknowledged cell was lost"
                assert len(set(cells)) == len(cells), "an acknowledged cell was computed again"
                self.cells = cells
                return True
            time.sleep(0.02)
        assert self.process.poll() is not None, f"nothing was acknowledged for {at_most} s"
        return False

    def ends(self) -> None:
        said, _ = self.process.communicate(timeout=600)
        assert self.process.returncode == 0, said.decode()


def lose_workers(file: Path, there: Path, place: Path) -> int:
    """Kills workers of a cluster on this machine."""
    chance, killed, driver = random.Random(1), 0, Driver(file, there)
    while killed < FAULTS and driver.goes_on():
        time.sleep(chance.uniform(0.0, 0.5))
        if workers := children(started(place, "raylet/raylet"), "^ray::task"):
            kill([chance.choice(workers)])
            killed += 1
    driver.ends()
    return killed


def lose_nodes(file: Path, there: Path, place: Path) -> int:
    """Kills the raylet of the second node of a cluster, with which its workers go, and adds another one. The driver
    lives."""
    from ray.cluster_utils import Cluster

    # Ray takes 30 s to believe that a node is dead, else.
    soon = {"health_check_initial_delay_ms": 0, "health_check_period_ms": 200, "health_check_failure_threshold": 3}
    size = {"num_cpus": 1, "object_store_memory": 80 << 20}
    cluster = Cluster(True, head_node_args={**size, "include_dashboard": False, "_system_config": soon})
    try:
        chance, killed, driver = random.Random(2), 0, None
        while killed < FAULTS:
            node = cluster.add_node(**size)
            driver = driver or Driver(file, there, cluster.address)
            if not driver.goes_on():
                break
            time.sleep(chance.uniform(0.0, 0.5))
            (raylet,) = node.all_processes["raylet"]
            raylet.process.kill()
            raylet.process.wait()
            cluster.remove_node(node, allow_graceful=False)
            killed += 1
        assert driver is not None
        driver.ends()
        return killed
    finally:
        cluster.shutdown()


def lose_drivers(file: Path, there: Path, place: Path) -> int:
    """Kills drivers, half of them with the raylet of their cluster."""
    chance = random.Random(3)
    for fault in range(FAULTS):
        driver = Driver(file, there)
        if not driver.goes_on():
            return fault
        time.sleep(chance.uniform(0.0, 0.5))
        if fault % 2 == 1:
            kill(started(place, "raylet/raylet"))
        driver.process.kill()
        driver.process.communicate()
        stop(place)
    Driver(file, there).ends()
    return FAULTS


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> g.Sweep:
    """A sweep of cells long enough for all faults."""
    folder = tmp_path_factory.mktemp("undisturbed")
    return g.sweep(define(folder, 20, f"{LENGTH * FAULTS}s", 10), folder=folder / "here")


@pytest.mark.parametrize("lose", [lose_workers, lose_nodes, lose_drivers])
def test_faults_lose_nothing_that_was_acknowledged(
    lose: Callable[[Path, Path, Path], int], undisturbed: g.Sweep, tmp_path: Path, place: Path
) -> None:
    there = tmp_path / "there"
    killed = lose(undisturbed.folder.parent / "s.toml", there, place)
    print(f"\n{lose.__name__}: {killed} of {FAULTS}")
    # A fast machine may be done before the last ones.
    assert killed >= max(1, FAULTS // 2), "cells are too short for so many faults"
    assert shards(there) == shards(undisturbed)


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    """A cluster of this machine, to which this process is connected."""
    with tempfile.TemporaryDirectory(prefix="gr") as folder, pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAY_TMPDIR", folder)
        ray.init(address="local", num_cpus=2, include_dashboard=False, log_to_driver=False)
        yield
        ray.shutdown()
        stop(Path(folder))


@pytest.mark.usefixtures("cluster")
def test_a_worker_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_ray, "VERSION", "0.0.1")
    with pytest.raises(g.UsageError, match="the driver has goodness 0.0.1 and a worker has"):
        g.sweep(define(tmp_path, 1, "50ms", 1), on="ray")


@pytest.mark.usefixtures("cluster")
def test_a_result_that_differs_here_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = define(tmp_path, 4, "50ms", 40)
    monkeypatch.setattr(_ray, "compute_cells", lambda cells, files: b'{"cell":"planted"}')
    with pytest.raises(g.Violation, match="has another result here"):
        g.sweep(file, folder=tmp_path / "checked", on="ray", recheck="10%")
    assert len(g.sweep(file, folder=tmp_path / "unchecked", on="ray", recheck=0).shards) == 1
