"""Differences: where two sides part, and what follows."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Union

from goodness import _goodness
from goodness._errors import UsageError
from goodness._goodness import Comparison, Difference, Work
from goodness._inputs import Name, opened
from goodness._run import texts

#: One of two sides: work, or a result.
Side = Union[Name, Work, Comparison]


def diff(
    a: Side,
    b: Side | None = None,
    *,
    policies: Iterable[str] = (),
    arms: Iterable[str] = (),
    elevators: Iterable[str] = (),
    runs: int = 10,
    seed: int = 1,
    fail_if: Iterable[str] = (),
    machine: str | None = None,
    judge: str | Sequence[str] | None = None,
) -> Difference:
    """Finds the first decision that differs, and what follows, with intervals.

    With one work, two `policies`, or one of `arms` and the unchanged work, or two of `arms`, run with the same seeds.
    With two recordings, these as they were made. With two results, which are finished comparisons or their files, the
    arm that both have; one name in `policies` chooses it. `fail_if` are conditions such as
    "request_latency_p99 > +5%", which `outcome` answers.
    """
    policies, arms, elevators = texts("policies", policies), texts("arms", arms), texts("elevators", elevators)
    conditions = texts("fail_if", fail_if)
    if arms and (policies or elevators):
        raise UsageError(f"arms and {'policies' if policies else 'elevators'} are both given; leave one out")
    if b is None:
        if isinstance(a, Comparison):
            raise UsageError("a result has nothing to differ from; name two")
        work = opened(a, machine, judge)
        return _goodness.diff_arms(
            work, policies=policies, arms=arms, elevators=elevators, runs=runs, seed=seed, fail_if=conditions
        )
    results = [result for one in (a, b) if (result := as_result(one)) is not None]
    if len(results) == 2:
        if len(policies) > 1 or arms or elevators:
            raise UsageError("two results are compared as they are; only one name in policies can choose an arm")
        label = policies[0] if policies else None
        return _goodness.diff_results(results[0], results[1], label=label, fail_if=conditions)
    if isinstance(a, Comparison) or isinstance(b, Comparison) or results:
        raise UsageError("only one of the two is a result; name two of a kind")
    if policies or arms or elevators:
        raise UsageError("two recordings are compared as they were made; for arms, name one work")
    return _goodness.diff_recordings(opened(a, machine, judge), opened(b, machine, judge), fail_if=conditions)


def as_result(side: Side) -> Comparison | str | None:
    """The side, if it is a result."""
    if isinstance(side, (Comparison, Work)):
        return side if isinstance(side, Comparison) else None
    text = os.fspath(side)
    return text if _goodness.is_result(text) else None
