"""Sweeps: a space of arms, settings, machines, inputs and seeds, each cell computed once."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from goodness._errors import UsageError
from goodness._goodness import SweepFolder


class Sweep:
    """A sweep that was computed: its folder, and the cells that failed."""

    def __init__(self, folder: Path, cells: int, failed: list[tuple[str, str, str]]) -> None:
        #: Folder of the results.
        self.folder = folder
        #: Number of cells.
        self.cells = cells
        #: Arm, input and sentence of each cell that failed. They are tried again on the next start.
        self.failed = failed

    @property
    def shards(self) -> list[Path]:
        """The Parquet files: one row for each cell, run and metric."""
        return sorted((self.folder / "shards").glob("*.parquet"))

    def to_polars(self) -> Any:
        """All values as one data frame of polars."""
        import polars

        return polars.read_parquet(self.shards)

    def to_pandas(self) -> Any:
        """All values as one data frame of pandas."""
        import pandas

        return pandas.concat([pandas.read_parquet(shard) for shard in self.shards], ignore_index=True)

    def __repr__(self) -> str:
        failed = f", {len(self.failed)} failed" if self.failed else ""
        return f"Sweep of {self.cells} cells in {self.folder}{failed}"


def sweep(
    file: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    part: str = "1/1",
    on: str | None = None,
) -> Sweep:
    """Computes the cells that are missing in the folder of a sweep.

    `file` defines the space. `folder` holds the results; without it, the file's name without its ending does. `part`
    is one of several parts, as in "2/8". `on` is a Ray cluster: "ray" for the one that this machine belongs to, else
    one of this machine alone; or an address, ray://….
    """
    if on is not None and on != "ray" and not on.startswith("ray://"):
        raise UsageError(f'on="{on}" is no cluster; write "ray", or an address such as "ray://head:10001"')
    sweeping = SweepFolder(Path(file), None if folder is None else Path(folder), part)
    if on is None:
        sweeping.run()
    else:
        from goodness import _ray

        _ray.run(sweeping, on)
    cells = len(sweeping)
    return Sweep(Path(sweeping.path), cells, sweeping.finish())


def command(words: list[str]) -> int:
    """Runs the command `goodness sweep FILE --on CLUSTER`. Returns the exit code."""
    parser = argparse.ArgumentParser(prog="goodness sweep", allow_abbrev=False)
    parser.add_argument("file", metavar="FILE.toml", help="definition of the sweep")
    parser.add_argument("--on", required=True, metavar="CLUSTER", help='"ray", or an address such as ray://head:10001')
    parser.add_argument("--folder", metavar="FOLDER", help="folder of the results")
    parser.add_argument("--part", default="1/1", metavar="K/N", help="compute one of N parts of the cells, number K")
    words_of = parser.parse_args(words)
    done = sweep(words_of.file, folder=words_of.folder, part=words_of.part, on=words_of.on)
    print(done)
    for arm, work, why in done.failed[:10]:
        print(f"  {arm} on {work}: {why}")
    return 1 if done.failed else 0
