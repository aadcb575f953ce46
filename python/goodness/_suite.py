"""Suites: the same arms on several unlike inputs, ranked together."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

from goodness import _goodness
from goodness._arms import Arm
from goodness._errors import UsageError
from goodness._goodness import Suite, Work
from goodness._inputs import Name
from goodness._run import Named, compare, named


def compare_suite(
    suite: Name | Work | Sequence[Name | Work],
    arms: Iterable[Named] = (),
    *,
    policies: Iterable[Named] = (),
    runs: int = 10,
    seed: int = 1,
    rank_by: str | None = None,
    machine: str | None = None,
    judge: str | Sequence[str] | None = None,
) -> Suite:
    """Ranks the same arms on several unlike inputs, each judged by itself, and over all of them.

    `suite` is the name of one, or works of your own: a path, opened work, or a list. `arms` are changes of the
    unchanged work, which is the reference; `policies` are policies alone, of which the first is the reference.
    """
    arms, policies = named("arms", arms), named("policies", policies)
    name = suite if isinstance(suite, str) else ""
    shipped, standard = _goodness.suite_inputs(suite if isinstance(suite, str) else "interactive")
    if isinstance(suite, (os.PathLike, Work)):
        suite = [suite]
    works: list[Name | Work] = [*shipped] if isinstance(suite, str) else [*suite]
    if not works:
        raise UsageError("there is no work to compare on; name a suite, or works")
    given = {"arms": arms, "policies": policies, "runs": runs, "seed": seed}
    given |= {"rank_by": rank_by, "machine": machine, "judge": judge}
    if not arms and not policies:
        policies = [*standard]
    compared = [
        compare(one, arms, policies=policies, runs=runs, seed=seed, rank_by=rank_by, machine=machine, judge=judge)
        for one in works
    ]
    shown = [repr(name) if isinstance(suite, str) else f"[{', '.join(map(_shown, works))}]"]
    shown += [f"{key}={_shown(value)}" for key, value in given.items() if value not in (None, [])]
    return _goodness.ranked_together(name, compared, f"goodness.compare_suite({', '.join(shown)})")


def _shown(given: object) -> str:
    """What was given, as it is typed."""
    if isinstance(given, list):
        return f"[{', '.join(map(_shown, given))}]"
    if isinstance(given, os.PathLike):
        return repr(os.fspath(given))
    if isinstance(given, type):
        return given.__name__
    return repr(str(given)) if isinstance(given, (Work, Arm)) else repr(given)
