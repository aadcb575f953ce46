"""Sweeps: the same bytes here, from the command line and on Ray, and through faults of a cluster."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import goodness as g
import pytest

COMMAND = [sys.executable, "-m", "goodness", "sweep"]
#: Faults of each kind in one test.
FAULTS = int(os.environ.get("GOODNESS_RAY_FAULTS", "2"))


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


ray = pytest.importorskip("ray", reason="the package ray is not installed; pip install 'goodness[ray]'")


def driver(file: Path, folder: Path) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "RAY_USAGE_STATS_ENABLED": "0"}
    words = [*COMMAND, str(file), "--folder", str(folder), "--on", "ray"]
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def processes(name: str) -> list[int]:
    found = subprocess.run(["pgrep", "-f", name], capture_output=True, text=True, check=False).stdout.split()
    return [int(pid) for pid in found if int(pid) != os.getpid()]


def journaled(folder: Path) -> list[str]:
    """Cells in the journal, in order, without a line that is being written."""
    journal = folder / "journal" / "1-of-1.jsonl"
    text = journal.read_text() if journal.exists() else ""
    return [json.loads(line)["cell"] for line in text.splitlines(keepends=True) if line.endswith("\n")]


def stop_ray() -> None:
    subprocess.run([Path(sys.executable).parent / "ray", "stop", "--force"], capture_output=True, check=False)


def test_workers_that_are_killed_lose_nothing(tmp_path: Path) -> None:
    file = define(tmp_path, 20, f"{100 * FAULTS}s", 10)
    here = g.sweep(file, folder=tmp_path / "here")
    chance, killed = random.Random(1), 0
    process = driver(file, tmp_path / "there")
    while process.poll() is None and killed < FAULTS:
        time.sleep(chance.uniform(0.3, 1.0))
        if workers := processes("^ray::task"):
            os.kill(chance.choice(workers), signal.SIGKILL)
            killed += 1
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()
    print(f"\n{killed} workers were killed")
    assert killed > 0
    assert shards(tmp_path / "there") == shards(here)


def test_a_driver_or_a_node_that_is_killed_loses_only_what_was_not_acknowledged(tmp_path: Path) -> None:
    file = define(tmp_path, 20, f"{100 * FAULTS}s", 10)
    here = g.sweep(file, folder=tmp_path / "here")
    there, chance, acknowledged = tmp_path / "there", random.Random(2), 0
    for fault in range(2 * FAULTS):
        process = driver(file, there)
        begun = len(journaled(there))
        deadline = time.monotonic() + 60
        while process.poll() is None and len(journaled(there)) <= begun and time.monotonic() < deadline:
            time.sleep(0.05)
        time.sleep(chance.uniform(0.0, 0.5))
        if process.poll() is not None:
            break
        if fault % 2 == 1:
            for raylet in processes("raylet/raylet"):
                os.kill(raylet, signal.SIGKILL)
        process.kill()
        process.communicate()
        stop_ray()
        cells = journaled(there)
        assert len(set(cells)) == len(cells), "an acknowledged cell was computed again"
        assert len(cells) >= acknowledged, "an acknowledged cell was lost"
        acknowledged = len(cells)
    print(f"\n{acknowledged} of 400 cells were acknowledged by drivers that were killed")
    process = driver(file, there)
    said, _ = process.communicate(timeout=300)
    assert process.returncode == 0, said.decode()
    assert shards(there) == shards(here)


def test_a_worker_of_another_version_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from goodness import _ray

    monkeypatch.setattr(_ray, "VERSION", "0.0.1")
    with pytest.raises(g.UsageError, match="the driver has goodness 0.0.1 and a worker has"):
        g.sweep(define(tmp_path, 1, "50ms", 1), on="ray")


def test_a_result_that_differs_here_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from goodness import _ray

    file = define(tmp_path, 4, "50ms", 40)
    monkeypatch.setattr(_ray, "compute_cells", lambda cells, files: b'{"cell":"planted"}')
    with pytest.raises(g.Violation, match="has another result here"):
        g.sweep(file, on="ray")
