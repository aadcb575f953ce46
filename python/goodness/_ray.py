"""Sweeps on Ray: workers compute, and only the driver touches the folder.

A task computes a second of cells, or more on a large cluster. What it returns is journaled before it counts: a worker,
a node or the driver that dies loses what it had not returned, and nothing else.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from goodness._errors import Failure, UsageError, Violation
from goodness._goodness import VERSION, SweepFolder, compute_cells

#: Seconds of work in a task, at least. Ray needs about a millisecond for one.
TASK = 1.0
#: Tasks a second that a driver hands out at most; a larger cluster gets longer tasks.
RATE = 300.0
#: Most cells in a task.
MOST = 65_536
#: Tasks in flight for each CPU of the cluster: one that runs, and one that waits.
AHEAD = 2
#: Share of the cells that is computed here again, and at most so many: 1 000 equal cells leave, with 95 % confidence,
#: fewer than three in a thousand that differ.
RECHECK = (0.01, 1_000)
#: Times that a task is tried whose result was lost for a reason that Ray does not repair.
TRIES = 5


def run(folder: SweepFolder, address: str, recheck: float | None = None) -> None:
    """Computes what is missing in `folder` on the cluster at `address`, and the share `recheck` of it here again."""
    try:
        import ray
    except ImportError:
        raise UsageError("sweeps on Ray need the package ray; run: pip install 'goodness[ray]'") from None
    started = connect(ray, address)
    try:
        checked = Driver(ray, folder, recheck).run()
    finally:
        if started:
            ray.shutdown()
    check(folder, checked)


def connect(ray: Any, address: str) -> bool:
    """Connects to the cluster, unless this process is connected. True if it was not."""
    if ray.is_initialized():
        return False
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    if address != "ray":
        try:
            ray.init(address=address, **quiet)
        except (ConnectionError, RuntimeError, ValueError) as why:
            raise UsageError(f"{address}: no Ray cluster answers there ({first_line(why)})") from None
        return True
    try:
        ray.init(address="auto", **quiet)
    except ConnectionError:
        ray.init(address="local", include_dashboard=False, **quiet)
    return True


class Driver:
    """Hands out tasks and takes their results."""

    def __init__(self, ray: Any, folder: SweepFolder, recheck: float | None) -> None:
        self.ray = ray
        self.folder = folder
        self.missing = folder.missing()
        self.next = 0
        share, most = RECHECK
        self.recheck = min(share, most / max(1, len(self.missing))) if recheck is None else recheck
        # The first tasks are small, to learn what a cell takes.
        self.size = 8
        self.again: list[tuple[list[int], int]] = []
        self.checked: list[tuple[int, bytes]] = []
        self.task = ray.remote(num_cpus=1, max_retries=-1)(task)
        # Once for all tasks: a recording is as large as a hundred thousand cells.
        self.files = ray.put({name: Path(name).read_bytes() for name in folder.files()})

    def run(self) -> list[tuple[int, bytes]]:
        """Computes everything. Returns the cells to check with their results."""
        flying: dict[Any, tuple[list[int], int]] = {}
        while True:
            while len(flying) < AHEAD * self.cpus() and (batch := self.batch()):
                flying[self.submit(batch[0])] = batch
            if not flying:
                return self.checked
            ready, _ = self.ray.wait(list(flying), num_returns=len(flying), timeout=0.1)
            if not ready:
                ready, _ = self.ray.wait(list(flying), num_returns=1, timeout=10.0)
            self.take([(reference, *flying.pop(reference)) for reference in ready])

    def cpus(self) -> int:
        """CPUs of the cluster now: nodes come and go."""
        return max(1, int(self.ray.cluster_resources().get("CPU", 1)))

    def batch(self) -> tuple[list[int], int] | None:
        """The next cells with the number of times that they were tried; None if all are out."""
        if self.again:
            return self.again.pop()
        places = self.missing[self.next : self.next + self.size]
        self.next += len(places)
        return (places, 0) if places else None

    def submit(self, places: list[int]) -> Any:
        return self.task.remote(VERSION, self.files, self.folder.cells(places))

    def take(self, ready: list[tuple[Any, list[int], int]]) -> None:
        """Journals the results of tasks that ended, all at once."""
        lines = []
        for reference, places, tried in ready:
            try:
                finished, seconds = self.ray.get(reference)
            except self.ray.exceptions.RayTaskError as error:
                cause = error.cause
                raise (cause if isinstance(cause, (UsageError, Violation)) else Failure(str(error))) from None
            except self.ray.exceptions.RayError as error:
                if tried + 1 >= TRIES:
                    why = f"a task of {len(places)} cells was lost {TRIES} times: {first_line(error)}"
                    raise Failure(why) from None
                self.again.append((places, tried + 1))
                continue
            wanted = max(TASK, self.cpus() / RATE)
            self.size = max(1, min(MOST, round(wanted * len(places) / max(seconds, 1e-6))))
            lines.append(finished)
            for place, line in zip(places, finished.splitlines()):
                if is_checked(line, self.recheck):
                    self.checked.append((place, line))
        if lines:
            self.folder.accept(b"".join(lines))


def task(version: str, files: dict[str, bytes], cells: bytes) -> tuple[bytes, float]:
    """Computes cells on a worker. Returns them with the time in seconds."""
    if version != VERSION:
        why = f"the driver has goodness {version} and a worker has {VERSION}"
        raise UsageError(f"{why}; install one version on all nodes")
    paths = {name: written(name, content) for name, content in files.items()}
    began = time.perf_counter()
    return compute_cells(cells, paths), time.perf_counter() - began


def written(name: str, content: bytes) -> Path:
    """A file of this content on this node, under a name that ends as `name` does."""
    folder = Path(tempfile.gettempdir()) / f"goodness-{os.getuid()}" / hashlib.sha256(content).hexdigest()[:32]
    path = folder / Path(name).name
    if not path.exists():
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = folder / f"{os.getpid()}.partial"
        partial.write_bytes(content)
        partial.rename(path)
    return path


def is_checked(line: bytes, share: float) -> bool:
    """True for this share of the cells, by the hash that begins a line."""
    return int(line[9:17], 16) < share * (1 << 32)


def check(folder: SweepFolder, checked: list[tuple[int, bytes]]) -> None:
    """Computes the chosen cells here and compares: a node with another result has another program or a fault."""

    def is_equal(place: int, line: bytes) -> bool:
        return compute_cells(folder.cells([place]), {}).strip() == line

    with ThreadPoolExecutor(os.cpu_count()) as threads:
        equal = threads.map(is_equal, *zip(*checked)) if checked else ()
        if differing := [line for (_, line), same in zip(checked, equal) if not same]:
            name = differing[0][9:41].decode()
            raise Violation(f"cell {name} has another result here than on the cluster; delete the folder's shards")


def first_line(error: BaseException) -> str:
    return str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
