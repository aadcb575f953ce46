"""Sweeps: a space of arms, settings, machines, inputs and seeds, each cell computed once."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from goodness._errors import UsageError
from goodness._goodness import SweepFolder


class Sweep:
    """A sweep that was computed: which arm wins where, its folder, and the cells that failed."""

    def __init__(self, sweeping: SweepFolder) -> None:
        #: Arm, input and sentence of each cell that failed. They are tried again on the next start.
        self.failed = sweeping.finish()
        #: Folder of the results.
        self.folder = Path(sweeping.path)
        #: Number of cells.
        self.cells = len(sweeping)
        self._json, self._text, self._page = sweeping.summary()

    def to_dict(self) -> dict[str, Any]:
        """The summary: main effects, responses and the phase diagram (schema goodness.sweep/1)."""
        summary: dict[str, Any] = json.loads(self._json)
        return summary

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the summary as a self-contained page."""
        Path(path).write_text(self._page, encoding="utf-8")

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
        return f"{self.cells} cells in {self.folder}{failed}\n\n{self._text.rstrip()}"


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
    return Sweep(sweeping)


def on_cluster(words: list[str]) -> list[str]:
    """Computes the sweep of the command `goodness sweep` on a cluster. Returns the words without the cluster."""
    parser = argparse.ArgumentParser(prog="goodness sweep", allow_abbrev=False, add_help=False)
    parser.add_argument("--on", required=True)
    known, rest = parser.parse_known_args(words)
    parser.add_argument("file")
    parser.add_argument("--folder")
    parser.add_argument("--part", "--shard", default="1/1")
    named, _ = parser.parse_known_args(words)
    sweep(named.file, folder=named.folder, part=named.part, on=known.on)
    return rest
