"""Tunings: a search for settings that are better than the default."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from goodness import _goodness
from goodness._errors import UsageError
from goodness._goodness import Tuning, Work
from goodness._inputs import Name, opened
from goodness._run import texts


def tune(
    work: Name | Work | Sequence[Name | Work],
    over: Iterable[str],
    *,
    policy: str | None = None,
    elevator: str | None = None,
    minimise: str | None = None,
    maximise: str | None = None,
    keep: Iterable[str] = (),
    runs: int = 20,
    seed: int = 1,
    machine: str | None = None,
    judge: str | Sequence[str] | None = None,
) -> Tuning:
    """Searches knobs for a setting that is better than the default.

    `over` are knobs with their values, such as "base_slice=0.3ms..12ms", "redis.nice=-10..10" or
    "backup.class=normal|batch"; of work with a disk, also those of `elevator`. `minimise` or `maximise` is a metric.
    `keep` are bounds on others, such as "throughput >= -1%". The finalists are scored on `runs` runs that the search
    did not see; of several recordings of one load, on the last.
    """
    if minimise and maximise:
        raise UsageError("minimise and maximise are both given; leave one out")
    works: list[Name | Work] = [work] if isinstance(work, (str, os.PathLike, Work)) else [*work]
    return _goodness.tune(
        [opened(one, machine, judge) for one in works],
        over=texts("over", over),
        policy=policy,
        elevator=elevator,
        minimise=minimise,
        maximise=maximise,
        keep=texts("keep", keep),
        runs=runs,
        seed=seed,
    )
