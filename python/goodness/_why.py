"""Explanations: why the longest latencies are long."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal

from goodness import _goodness
from goodness._goodness import Explanation, Work
from goodness._inputs import Name, alone
from goodness._run import DEFAULT


def why(
    work: Name | Work = DEFAULT,
    *,
    policy: str | None = None,
    elevator: str | None = None,
    arm: str | None = None,
    of: Literal["requests", "io", "waits", "wakeups", "all"] | None = None,
    at: str | None = None,
    worst: int = 10,
    check: bool = True,
    profile: bool = False,
    seed: int = 1,
    replication: int = 0,
    machine: str | None = None,
    judge: str | Sequence[str] | None = None,
) -> Explanation:
    """Says why something was late: what the longest requests, I/Os or waits were spent on, one by one and added up.

    A recording is explained as it is. With `policy`, `arm` or `machine`, and for any other work, a run is simulated,
    and the policy says by which rule it let a task wait. `of` is what a latency is ("io" of simulated runs alone),
    `at` a time at which it was under way ("6701.5s"), `worst` the number of latencies with their chains. `check`
    simulates the run without its main causes. `profile` simulates it with less CPU time of tasks, shorter
    holds of locks and faster disks.
    """
    given = work if isinstance(work, Work) else os.fspath(work)
    return _goodness.why(
        given,
        alone(work, machine, judge),
        policy=policy,
        elevator=elevator,
        arm=arm,
        of=of,
        at=at,
        worst=worst,
        check=check,
        profile=profile,
        seed=seed,
        replication=replication,
    )
