"""Arms of a comparison: a policy, and changes to the work and the machine."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Union

from goodness._errors import UsageError
from goodness._policy import Policy

#: A value of a setting, as it would be typed: "3ms", 8, True.
Setting = Union[str, int, float, bool]


def typed(value: Setting) -> str:
    """The value as the command line would have it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def settings(values: Mapping[str, Setting]) -> str:
    """Settings as the command line would have them: name=value, separated by commas."""
    return ",".join(f"{name}={typed(value)}" for name, value in values.items())


class Arm:
    """A policy, which may be a class of your own, and changes; `str` gives the text of the command line's `--arm`."""

    def __init__(self, text: str, policy: type[Policy] | None = None) -> None:
        self.text = text
        self.policy = policy

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"Arm({self.text!r}, {self.policy.__name__})" if self.policy else f"Arm({self.text!r})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Arm) and (other.text, other.policy) == (self.text, self.policy)

    def __hash__(self) -> int:
        return hash((self.text, self.policy))


def arm(
    policy: str | type[Policy] | None = None,
    changes: str = "",
    *,
    nice: Mapping[str, int] | None = None,
    affinity: Mapping[str, str | int | Iterable[int]] | None = None,
    cls: Mapping[str, str] | None = None,
    slice: Mapping[str, str] | None = None,
    groups: Mapping[str, Mapping[str, Setting]] | None = None,
    cpus: int | None = None,
    hz: int | None = None,
    hogs: int | None = None,
    elevator: str | None = None,
    **policy_settings: Setting,
) -> Arm:
    """What is changed: a policy with its settings, tasks by name or id (`worker*` for many), groups, the machine.

    >>> arm("eevdf", base_slice="3ms")
    Arm('eevdf:base_slice=3ms')
    >>> arm(nice={"redis*": -5}, cpus=4)
    Arm('redis*.nice=-5 cpus=4')
    """
    parts: list[str] = changes.split()
    own = policy if isinstance(policy, type) else None
    if own is not None and (policy_settings or elevator):
        raise UsageError(f"{own.__name__} takes no settings and no elevator; derive a class for each setting")
    if policy is None and policy_settings:
        names = ", ".join(policy_settings)
        raise UsageError(f"{names}: settings of no policy; name it first, as in goodness.arm('eevdf', ...)")
    if isinstance(policy, str):
        text = settings(policy_settings)
        separator = "," if ":" in policy else ":"
        policy = f"{policy}{separator}{text}" if text else policy
        parts.append(f"{policy}+{elevator}" if elevator else policy)
    elif elevator is not None and policy is None:
        raise UsageError("elevator is named without a policy; name both, as in goodness.arm('eevdf', elevator='bfq')")
    for key, changed in (("nice", nice), ("class", cls), ("slice", slice)):
        for whom, value in (changed or {}).items():
            parts.append(f"{whom}.{key}={value}")
    for whom, where in (affinity or {}).items():
        named = isinstance(where, (str, int))
        parts.append(f"{whom}.affinity={where if named else ','.join(map(str, where))}")  # type: ignore[arg-type]
    for whom, limits in (groups or {}).items():
        parts.extend(f"{whom}.{key}={typed(value)}" for key, value in limits.items())
    for key, number in (("cpus", cpus), ("hz", hz), ("hogs", hogs)):
        if number is not None:
            parts.append(f"{key}={number}")
    for part in parts:
        if any(character.isspace() for character in part):
            raise UsageError(f"{part!r} contains a blank, which separates changes; write ? or * in its place")
    return Arm(" ".join(parts), own) if own else Arm(" ".join(parts) or "base")
