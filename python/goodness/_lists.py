"""Lists of what there is. Each entry has a name and a summary, and its settings as `tunables` if it has any."""

from __future__ import annotations

import json
from typing import Any, overload

from goodness._goodness import listed

Entry = dict[str, Any]


def _list(kind: str) -> list[Entry]:
    entries: list[Entry] = json.loads(listed(kind))
    return entries


def _entry(kind: str, name: str) -> Entry:
    entry: Entry = json.loads(listed(kind, name))
    return entry


@overload
def policies(name: None = None) -> list[Entry]: ...
@overload
def policies(name: str) -> Entry: ...
def policies(name: str | None = None) -> list[Entry] | Entry:
    """The CPU policies; with a name, that entry alone."""
    return _list("policies") if name is None else _entry("policies", name)


@overload
def elevators(name: None = None) -> list[Entry]: ...
@overload
def elevators(name: str) -> Entry: ...
def elevators(name: str | None = None) -> list[Entry] | Entry:
    """The elevators (I/O schedulers); with a name, that entry alone."""
    return _list("elevators") if name is None else _entry("elevators", name)


@overload
def devices(name: None = None) -> list[Entry]: ...
@overload
def devices(name: str) -> Entry: ...
def devices(name: str | None = None) -> list[Entry] | Entry:
    """The models of disks; with a name, that entry alone."""
    return _list("devices") if name is None else _entry("devices", name)


@overload
def metrics(name: None = None) -> list[Entry]: ...
@overload
def metrics(name: str) -> Entry: ...
def metrics(name: str | None = None) -> list[Entry] | Entry:
    """The metrics of a run; with a name, that entry alone."""
    return _list("metrics") if name is None else _entry("metrics", name)


@overload
def workloads(name: None = None) -> list[Entry]: ...
@overload
def workloads(name: str) -> Entry: ...
def workloads(name: str | None = None) -> list[Entry] | Entry:
    """The built-in workloads; with a name, that entry alone."""
    return _list("workloads") if name is None else _entry("workloads", name)


@overload
def machines(name: None = None) -> list[Entry]: ...
@overload
def machines(name: str) -> Entry: ...
def machines(name: str | None = None) -> list[Entry] | Entry:
    """The named machines; with a name, that entry alone."""
    return _list("machines") if name is None else _entry("machines", name)


@overload
def formats(name: None = None) -> list[Entry]: ...
@overload
def formats(name: str) -> Entry: ...
def formats(name: str | None = None) -> list[Entry] | Entry:
    """The trace formats, and how each is recorded; with a name, that entry alone."""
    return _list("formats") if name is None else _entry("formats", name)


@overload
def recordings(name: None = None) -> list[Entry]: ...
@overload
def recordings(name: str) -> Entry: ...
def recordings(name: str | None = None) -> list[Entry] | Entry:
    """The recordings shipped with the package; with a name, that entry alone."""
    return _list("recordings") if name is None else _entry("recordings", name)


@overload
def studies(name: None = None) -> list[Entry]: ...
@overload
def studies(name: str) -> Entry: ...
def studies(name: str | None = None) -> list[Entry] | Entry:
    """The studies of published results; with a name, that entry alone."""
    return _list("studies") if name is None else _entry("studies", name)
