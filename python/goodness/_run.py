"""Comparisons, verifications and studies."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Literal, Union

from goodness import _goodness
from goodness._arms import Arm
from goodness._errors import UsageError
from goodness._goodness import Comparison, Study, Verification, Work
from goodness._inputs import Name, opened
from goodness._policy import Policy

#: The recording that is compared where none is named.
DEFAULT = "apache-ab-c32-1cpu"

#: A name with settings, or an arm.
Named = Union[str, Arm, type[Policy]]


def compare(
    work: Name | Work | Sequence[Name | Work] = DEFAULT,
    arms: Iterable[Named] = (),
    *,
    policies: Iterable[Named] = (),
    elevators: Iterable[str] = (),
    field: Literal["deploy", "history"] | None = None,
    as_arms: bool = False,
    runs: int = 10,
    seed: int = 1,
    first: int = 0,
    rank_by: str | None = None,
    machine: str | None = None,
    judge: str | Sequence[str] | None = None,
) -> Comparison:
    """Ranks schedulers on the same work, with intervals and verdicts.

    `work` is a name, a path or opened work; several recordings of one load give intervals over recordings, or are the
    arms themselves with `as_arms`. `arms` are changes of the unchanged work, which is the reference. `policies` are
    policies alone, of which the first is the reference; each runs with each of `elevators`. Without any of these the
    arms are those of `field`. Every arm gets the same `runs` replications of `seed`, from number `first` on.
    """
    arms, policies = named("arms", arms), named("policies", policies)
    elevators = texts("elevators", elevators)
    if arms and (policies or elevators or field):
        other = "policies" if policies else "elevators" if elevators else "field"
        raise UsageError(f"arms and {other} are both given; leave one out")
    if policies and field:
        raise UsageError("policies and field are both given; leave one out")
    if as_arms and (arms or policies or elevators or field or machine):
        raise UsageError("as_arms compares recordings as they were made; leave arms, policies, field and machine out")
    works: list[Name | Work] = [work] if isinstance(work, (str, os.PathLike, Work)) else [*work]
    if not works:
        raise UsageError("there is no work to compare on; name a recording, a file or a workload")
    return _goodness.compare(
        [opened(one, machine, judge) for one in works],
        arms=[pair(one) for one in arms],
        policies=[pair(one) for one in policies],
        elevators=elevators,
        field=field,
        as_arms=as_arms,
        runs=runs,
        first=first,
        seed=seed,
        rank_by=rank_by,
    )


def named(option: str, given: Iterable[Named]) -> list[Named]:
    """What was given, as a list of names."""
    if isinstance(given, (str, Arm, type)):
        shown = given.__name__ if isinstance(given, type) else repr(str(given))
        raise UsageError(f"{option} is one name; write a list: {option}=[{shown}]")
    return list(given)


def texts(option: str, given: Iterable[str]) -> list[str]:
    """The same for names alone."""
    return [str(one) for one in named(option, given)]


def pair(one: Named) -> tuple[str, type[Policy] | None]:
    """Text and policy of a name."""
    if isinstance(one, type):
        if not issubclass(one, Policy):
            raise UsageError(f"{one.__name__} is no policy; derive it from goodness.Policy")
        return "", one
    return (one.text, one.policy) if isinstance(one, Arm) else (one, None)


def verify(
    work: Name | Work = DEFAULT,
    *,
    seed: int = 1,
    machine: str | None = None,
    judge: str | Sequence[str] | None = None,
) -> Verification:
    """Replays a recording under the policy that made it, and says how closely that reproduces it."""
    return _goodness.verify(opened(work, machine, judge), seed=seed)


def study(name: Name, *, runs: int | None = None, seed: int = 1, quick: bool = False) -> Study:
    """Reproduces published results: a built-in study (`goodness.studies()`), or a file or folder of your own.

    `quick` leaves out the sensitivity analysis, which takes most of the time.
    """
    return _goodness.study(os.fspath(name), runs=runs, seed=seed, quick=quick)
