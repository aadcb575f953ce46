#!/usr/bin/env python3
"""Writes vectors.json: SciPy's answers, against which the Rust statistics are tested.

Needs SciPy 1.17 or later in a virtual environment of its own:

    python3 -m venv /tmp/scipy && /tmp/scipy/bin/pip install scipy
    /tmp/scipy/bin/python crates/stats/tests/stats/make_vectors.py

Inputs are written out or drawn from a fixed seed and stored beside the answers, so the
tests need neither Python nor the same generator. Running it twice writes the same bytes.
"""

import json
from pathlib import Path

import numpy as np
import scipy
import scipy.optimize
from scipy import stats

SKEWED = [1.0, 2.0, 2.5, 3.0, 4.5, 7.0, 11.0, 30.0]
LATENCY_A = [12.1, 13.4, 11.8, 15.0, 12.9, 14.2, 13.3, 12.5, 16.1, 13.0]
LATENCY_B = [11.5, 13.1, 11.9, 14.1, 12.2, 13.0, 13.2, 11.6, 14.8, 12.7]
TIED_A = [3.0, 5.0, 5.0, 7.0, 9.0, 9.0, 9.0, 12.0]
TIED_B = [4.0, 5.0, 6.0, 7.0, 7.0, 8.0, 9.0, 10.0]


def rounded(values):
    return [round(float(value), 6) for value in values]


def drawn():
    """A larger sample."""
    return rounded(np.random.default_rng(20071).lognormal(3.0, 0.8, 200))


def distributions():
    student = [
        {"alpha": a, "freedom": f, "critical": float(stats.t.isf(a / 2, f))}
        for a in (0.3, 0.05, 0.01, 0.05 / 30, 1e-6)
        for f in (1, 2, 3, 4.7, 9, 29, 200, 1e5)
    ]
    tails = [
        {"t": t, "freedom": f, "p": float(2 * stats.t.sf(t, f))}
        for t in (0.0, 0.4, 2.0, 9.5, 60.0)
        for f in (1, 2.5, 9, 400)
    ]
    normal = [
        {"z": z, "p": float(stats.norm.cdf(z))} for z in (-8.0, -3.1, -1.96, -0.2, 0.0, 0.7, 2.5, 5.0)
    ]
    return {"student": student, "student_tails": tails, "normal": normal}


def summary(values, level):
    mean, error = np.mean(values), stats.sem(values)
    low, high = stats.t.interval(level, len(values) - 1, loc=mean, scale=error)
    return {
        "values": values, "level": level, "mean": float(mean), "sd": float(np.std(values, ddof=1)),
        "low": float(low), "high": float(high),
    }


def effects(a, b):
    balance = sum((y > x) - (y < x) for x in a for y in b)
    return {"a": a, "b": b, "cliffs_delta": balance / (len(a) * len(b))}


def log_ratio(reference, candidate, level):
    r, c = np.log(reference), np.log(candidate)
    paired, welch = stats.ttest_rel(c, r), stats.ttest_ind(c, r, equal_var=False)
    rows = {}
    for name, test in (("paired", paired), ("independent", welch)):
        ci = test.confidence_interval(level)
        rows[name] = {"p": float(test.pvalue), "low": float(np.exp(ci.low)), "high": float(np.exp(ci.high))}
    return {"reference": reference, "candidate": candidate, "level": level, **rows}


def fieller(reference, candidate, level):
    """Ends found by searching for the factor at which SciPy's paired t test has p = 1 - level."""
    r, c = np.array(reference), np.array(candidate)
    estimate = c.mean() / r.mean()

    def excess(factor):
        return stats.ttest_1samp(c - factor * r, 0.0).pvalue - (1 - level)

    low = scipy.optimize.brentq(excess, estimate - 2.0, estimate, xtol=1e-14)
    high = scipy.optimize.brentq(excess, estimate, estimate + 2.0, xtol=1e-14)
    p = float(stats.ttest_rel(c, r).pvalue)
    return {"reference": reference, "candidate": candidate, "level": level, "low": low, "high": high, "p": p}


def holm(p_values):
    """Straight from the definition: the largest of (m - i) * p over the smaller ones, at most 1."""
    order, m, largest = np.argsort(p_values, kind="stable"), len(p_values), 0.0
    adjusted = [0.0] * m
    for place, index in enumerate(order):
        largest = max(largest, min(1.0, (m - place) * p_values[index]))
        adjusted[index] = largest
    return {"p": p_values, "adjusted": adjusted}


def main():
    with_zeros = ([10.0, 0.0, 12.0, 11.0, 9.0, 10.0], [4.0, 0.0, 6.0, 3.0, 5.0, 7.0])
    vectors = {
        "made_with": f"SciPy {scipy.__version__}, NumPy {np.__version__}",
        "distributions": distributions(),
        "summary": [summary(SKEWED, 0.95), summary(LATENCY_A, 0.99), summary(drawn(), 0.9)],
        "effects": [effects(LATENCY_A, LATENCY_B), effects(TIED_A, TIED_B), effects(SKEWED, TIED_A)],
        "log_ratio": [log_ratio(LATENCY_A, LATENCY_B, 0.95), log_ratio(SKEWED, TIED_A, 0.99)],
        "fieller": [fieller(*with_zeros, 0.8), fieller(*with_zeros, 0.95)],
        "holm": [holm([0.04, 0.001, 0.2, 0.013, 0.013]), holm([0.5, 0.6]), holm([1e-9])],
    }
    path = Path(__file__).with_name("vectors.json")
    path.write_text(json.dumps(vectors, indent=1) + "\n")


if __name__ == "__main__":
    main()
