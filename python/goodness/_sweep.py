"""Sweeps: a space of arms, settings, machines, inputs and seeds, each cell computed once."""

from __future__ import annotations

import argparse
import json
import os
from pathlib import Path
from typing import Any

from goodness._errors import UsageError
from goodness._goodness import SweepFolder, Table


class Sweep:
    """A sweep that was computed: which arm wins where, its folder, and the cells that failed."""

    def __init__(self, sweeping: SweepFolder) -> None:
        #: Arm, input and sentence of each cell that failed. They are tried again on the next start.
        self.failed = sweeping.finish()
        #: Folder of the results.
        self.folder = Path(sweeping.path)
        #: Number of cells.
        self.cells = len(sweeping)
        self._summary = sweeping.summary()

    def to_dict(self) -> dict[str, Any]:
        """The summary: main effects, responses and the phase diagram (schema goodness.sweep/1)."""
        summary: dict[str, Any] = json.loads(self._summary.to_json())
        return summary

    def report(self, path: str | os.PathLike[str]) -> None:
        """Writes the summary as a self-contained page."""
        Path(path).write_text(self._summary.page, encoding="utf-8")

    @property
    def effects(self) -> Table:
        """The main effects: one row per factor and level."""
        return self._summary.effects

    @property
    def responses(self) -> Table:
        """The metric of each arm along the axes of the diagram."""
        return self._summary.responses

    @property
    def places(self) -> Table:
        """Which arm wins where: one row per place of the phase diagram."""
        return self._summary.places

    def surfaces(self) -> str:
        """The metric of each arm over the two parameters of the diagram, as text."""
        return self._summary.surfaces()

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
        return f"{self.cells} cells in {self.folder}{failed}\n\n{self._summary.to_text().rstrip()}"


def sweep(
    file: str | os.PathLike[str],
    *,
    folder: str | os.PathLike[str] | None = None,
    part: str = "1/1",
    on: str | None = None,
    recheck: str | float | None = None,
) -> Sweep:
    """Computes the cells that are missing in the folder of a sweep.

    `file` defines the space. `folder` holds the results; without it, the file's name without its ending does. `part`
    is one of several parts, as in "2/8". `on` is a Ray cluster: "ray" for the one that this machine belongs to, else
    one of this machine alone; or an address, ray://…. `recheck` is the share of the cells from a cluster that this
    machine computes again and compares, as in "0.1%" or 0.001: by default one in a hundred, and at most 1 000 cells.
    """
    if on is not None and on != "ray" and not on.startswith("ray://"):
        raise UsageError(f'on="{on}" is no cluster; write "ray", or an address such as "ray://head:10001"')
    if recheck is not None and on is None:
        raise UsageError("recheck is for cells of a cluster; leave it out, or name the cluster with on")
    checked = None if recheck is None else share(recheck)
    sweeping = SweepFolder(Path(file), None if folder is None else Path(folder), part)
    if on is None:
        sweeping.run()
    else:
        from goodness import _ray

        _ray.run(sweeping, on, checked)
    return Sweep(sweeping)


def share(text: str | float) -> float:
    """A share as it is typed: 0.1%, or 0.001."""
    typed = str(text)
    try:
        value = float(typed[:-1]) / 100 if typed.endswith("%") else float(typed)
    except ValueError:
        value = -1.0
    if not 0.0 <= value <= 1.0:
        raise UsageError(f"recheck={typed}: write a share such as 0.1%, or 0 for none")
    return value


def on_cluster(words: list[str]) -> list[str]:
    """Computes the sweep of the command `goodness sweep` on a cluster. Returns the words without the cluster."""
    parser = argparse.ArgumentParser(prog="goodness sweep", allow_abbrev=False, add_help=False)
    parser.add_argument("--on", required=True)
    parser.add_argument("--recheck")
    known, rest = parser.parse_known_args(words)
    parser.add_argument("file")
    parser.add_argument("--folder")
    parser.add_argument("--part", "--shard", default="1/1")
    named, _ = parser.parse_known_args(words)
    sweep(named.file, folder=named.folder, part=named.part, on=known.on, recheck=known.recheck)
    return rest
