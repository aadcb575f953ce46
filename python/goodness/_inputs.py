"""Work: recordings, experiments, built-in workloads."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Literal, Union

from goodness._arms import Setting, settings
from goodness._errors import UsageError
from goodness._goodness import Work, open_work

#: A name or a path.
Name = Union[str, "os.PathLike[str]"]


def call(function: str, text: str, options: dict[str, object]) -> str:
    """The expression that opens this work."""
    given = "".join(f", {name}={value!r}" for name, value in options.items() if value not in (None, False))
    return f"goodness.{function}({text!r}{given})"


def recording(
    name: Name,
    *,
    machine: str | None = None,
    judge: str | Sequence[str] | None = None,
    fact: str | Sequence[str] | None = None,
    window: str | None = None,
    arrivals: Literal["delays", "recorded"] | None = None,
    ends: Literal["open", "recorded"] | None = None,
    without_others: bool = False,
    recorded_by: str | None = None,
    device: str | None = None,
    block_events: Literal["queue", "issue"] | None = None,
    block_only: bool = False,
) -> Work:
    """A recording of scheduling or block I/O: the name of a shipped one, or a file.

    `judge` is whom the answer is about: a task or process by name or id, or a cgroup. `fact` states attributes of tasks
    that a foreign trace lacks, as in "worker*.affinity=0-1". `window` is the part of a recording of scheduling that is
    read, as in "10s..20s", counted from its first event. The other options are those of `goodness compare`.
    """
    options: dict[str, object] = {
        "machine": machine,
        "judge": judge,
        "fact": fact,
        "window": window,
        "arrivals": arrivals,
        "ends": ends,
        "without_others": without_others,
        "recorded_by": recorded_by,
        "device": device,
        "block_events": block_events,
        "block_only": block_only,
    }
    text = os.fspath(name)
    return open_work(text, call("recording", text, options), True, **options)


def experiment(
    path: Name,
    *,
    machine: str | None = None,
    lenient: bool = False,
    device: str | None = None,
    io_cost: str | None = None,
) -> Work:
    """An experiment (.toml), an rt-app file (.json) or a fio job file (.fio).

    `lenient` accepts keys of rt-app that have no effect here, and names them in the report.
    """
    options: dict[str, object] = {"machine": machine, "lenient": lenient, "device": device, "io_cost": io_cost}
    text = os.fspath(path)
    return open_work(text, call("experiment", text, options), False, **options)


def workload(name: str, *, machine: str | None = None, **workload_settings: Setting) -> Work:
    """A built-in workload with its settings (`goodness.workloads()`): `workload("mixed", hogs=8)`."""
    given = settings(workload_settings)
    text = f"{name}:{given}" if given else name
    shown: dict[str, object] = {**workload_settings, "machine": machine}
    return open_work(text, call("workload", name, shown), False, machine=machine)


def alone(work: Name | Work, machine: str | None, judge: str | Sequence[str] | None) -> dict[str, object]:
    """The options of work that is opened in the call; of opened work there are none."""
    if isinstance(work, Work) and (machine or judge):
        option = "machine" if machine else "judge"
        raise UsageError(f"{option} is for work that is opened here; give it to goodness.recording or its like")
    return {"machine": machine, "judge": judge}


def opened(work: Name | Work, machine: str | None, judge: str | Sequence[str] | None) -> Work:
    """Work as given, opened."""
    options = alone(work, machine, judge)
    if isinstance(work, Work):
        return work
    text = os.fspath(work)
    return open_work(text, repr(text), False, **options)
