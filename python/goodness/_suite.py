"""Suites: the same arms on several unlike inputs, ranked together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from goodness import _goodness
from goodness._errors import UsageError
from goodness._goodness import Suite, Work
from goodness._inputs import Name
from goodness._run import Named, compare, named


def compare_suite(
    suite: str | Sequence[Name | Work],
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

    `suite` is the name of one, or a list of works of your own. `arms` are changes of the unchanged work, which is the
    reference; `policies` are policies alone, of which the first is the reference.
    """
    arms, policies = named("arms", arms), named("policies", policies)
    name = suite if isinstance(suite, str) else ""
    shipped, standard = _goodness.suite_inputs(name or "interactive")
    works: list[Name | Work] = [*shipped] if isinstance(suite, str) else [*suite]
    if not works:
        raise UsageError("there is no work to compare on; name a suite, or works")
    if not arms and not policies:
        policies = [*standard]
    compared = [
        compare(one, arms, policies=policies, runs=runs, seed=seed, rank_by=rank_by, machine=machine, judge=judge)
        for one in works
    ]
    shown = repr(name) if name else f"[{', '.join(map(str, works))}]"
    return _goodness.ranked_together(name, compared, f"goodness.compare_suite({shown}, runs={runs}, seed={seed})")
