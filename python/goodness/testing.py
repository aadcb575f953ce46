"""Tests for policies of your own.

>>> import goodness as g
>>> from goodness.testing import check_policy
>>> check_policy(Fifo)
"""

from __future__ import annotations

import random
from collections.abc import Sequence

from goodness._errors import UsageError, Violation
from goodness._goodness import check_contract
from goodness._policy import Policy

__all__ = ["check_policy"]

#: Most CPUs of a drawn machine.
MOST = 64


def check_policy(
    policy: type[Policy], *, cpus: Sequence[int] = (1, 2, 8), draws: int = 10, seed: int | None = None
) -> None:
    """Holds a policy to the contract of the built-in ones, on random machines and work.

    For each number of `cpus` and each of `draws` seeds, the work runs twice: the referee must find no fault and no
    checker a violation, CPU time is conserved, every task runs to its end, and both runs are equal. The first break is
    a `goodness.Violation`: a sentence, and the call that shows it again. Without `seed` each call draws other work; the
    seed is printed.
    """
    if not (isinstance(policy, type) and issubclass(policy, Policy)):
        raise UsageError(f"{policy!r} is no policy; derive a class from goodness.Policy")
    wrong = [count for count in cpus if not 1 <= count <= MOST]
    if wrong or not cpus:
        raise UsageError(f"cpus={list(cpus)}: list numbers in 1 ..= {MOST}")
    if draws < 1:
        raise UsageError(f"draws={draws}: at least one is needed")
    if seed is None:
        seed = random.SystemRandom().randrange(1 << 32)
        print(f"goodness.testing.check_policy({policy.__name__}, draws={draws}, seed={seed})")
    broken = check_contract(policy, cpus=list(cpus), seed=seed, draws=draws)
    if broken is not None:
        count, seed, what = broken
        call = f"goodness.testing.check_policy({policy.__name__}, cpus=[{count}], draws=1, seed={seed})"
        machine = f"{count} CPU{'' if count == 1 else 's'}"
        raise Violation(f"{policy.__name__} on {machine}, seed {seed}: {what}. Reproduce: {call}", reproduce=call)
