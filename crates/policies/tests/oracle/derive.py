#!/usr/bin/env python3
"""derive.py TRACES METRICS OUT [SWITCHES]: makes the files of `expected/` from recordings (see README.md)."""
import json, lzma, pathlib, re, statistics, sys

SWITCH = re.compile(r"\s+(\d+)\.(\d{6}): sched_switch: .* ==> next_comm=(.*) next_pid=")
WAKING = re.compile(r"\s+(\d+)\.(\d{6}): sched_waking: comm=((?:kworker|kcompactd)\S*) ")
MARKER = re.compile(r"\s+(\d+)\.(\d{6}): \S+: uwork (start|end)")
FOREIGN = re.compile(r"kworker|kcompactd|migration|ksoftirqd|kswapd|rcu")
EVENT = re.compile(r"\s+(\d+)\.(\d{6}): (sched_switch|sched_waking): (.*)")
STRETCH = re.compile(r"prev_comm=(\S+) .* prev_state=(\S+) ==> next_comm=(\S+) ")


def sequence(lines):
    """Who runs from when on, µs after the start, and when kernel threads were woken."""
    start, runs, woken = None, [], []
    for line in lines:
        if m := MARKER.search(line):
            if m[3] == "end":
                break
            start = int(m[1]) * 1_000_000 + int(m[2])
        elif start is not None and (m := WAKING.search(line)):
            woken.append(int(m[1]) * 1_000_000 + int(m[2]) - start)
        elif start is not None and (m := SWITCH.search(line)):
            at, name = int(m[1]) * 1_000_000 + int(m[2]) - start, m[3]
            if name == "uwork":
                break
            if FOREIGN.match(name):
                continue
            name = "idle" if name.startswith("swapper") else name
            while runs and runs[-1][0] == at:
                runs.pop()
            if not runs or runs[-1][1] != name:
                runs.append((at, name))
    return runs, woken


def events(lines):
    """(µs of trace time, event, its fields) after the start."""
    started = False
    for line in lines:
        started = started or bool(MARKER.search(line))
        if started and (m := EVENT.search(line)):
            yield int(m[1]) * 1_000_000 + int(m[2]), m[3], m[4]


def kernel_work(lines, tick):
    """What interrupts take, from a run of tasks that never sleep: medians in µs.

    tick: from the timer's expiry, a trace-time multiple of 1/HZ, to the switch it brings. timer: from a wake-up by
    interrupt to the switch it brings.
    """
    ticks, timers, woken = [], [], None
    for at, event, fields in events(lines):
        if event == "sched_waking":
            woken = at
            continue
        _, state, following = STRETCH.search(fields).groups()
        if state.startswith("R") and woken is not None:
            timers.append(at - woken)
        elif state.startswith("R") and not FOREIGN.match(following):
            ticks.append(at % tick)
        woken = None
    return {"tick": statistics.median_low(ticks), "timer": statistics.median_low(timers)}


def sleeping(lines, tick, burst, slept, watched=1_000_000):
    """What switches and calls to sleep take, from tasks that compute and sleep in turn: medians in µs.

    sleep: by how much the time from switch-out to wake-up falls short of the sleep asked for. switch: what an
    undisturbed stretch takes beyond the burst, less `sleep`. Only the first second counts: the rest is to be predicted.
    """
    out, preempted, short, over = {}, set(), [], []
    begun = since = None
    disturbed = True
    for at, event, fields in events(lines):
        begun = begun or at
        if at > begun + watched:
            break
        if event == "sched_waking":
            disturbed = True
            name = fields.split()[0].removeprefix("comm=")
            if name in out and name.startswith("s-"):
                short.append(slept - (at - out.pop(name)))
            continue
        name, state, _ = STRETCH.search(fields).groups()
        if state != "S":
            preempted.add(name)
        else:
            out[name] = at
            if name.startswith("s-") and not disturbed and name not in preempted and since // tick == at // tick:
                over.append(at - since - burst)
            preempted.discard(name)
        since, disturbed = at, False
    sleep = statistics.median_low(short)
    return {"sleep": sleep, "switch": statistics.median_low(over) - sleep}


def costs(folder, tick):
    """What the work of a kernel takes, from two of its traces."""
    with lzma.open(folder / "hogs-4.trace.xz", "rt") as trace:
        found = kernel_work(trace, tick)
    with lzma.open(folder / "sleepers20-hogs2.trace.xz", "rt") as trace:
        found |= sleeping(trace, tick, 500, 20_000)
    return "".join(f"{name} {value}\n" for name, value in found.items())


def main():
    traces, metrics, out = map(pathlib.Path, sys.argv[1:4])
    keep = int(sys.argv[4]) if len(sys.argv) > 4 else 250
    for file in sorted(metrics.glob("*/*.json")):
        folder, name = file.parent.name, file.stem
        with lzma.open(traces / folder / f"{name}.trace.xz", "rt") as trace:
            runs, woken = sequence(trace)
        metric = json.loads(file.read_text())
        rows = [f"window {metric['start_us']} {metric['window_us']}"]
        for task in metric["tasks"]:
            latency = task["wakeup_latency_us"]
            rows.append(" ".join(map(str, [
                "task", task["task"], task["cpu_us"], task["switches_voluntary"], task["switches_involuntary"],
                latency["n"], latency["p50"] or 0, latency["p99"] or 0])))
        rows += [f"foreign {at}" for at in woken] + [f"{at} {name}" for at, name in runs[:keep]]
        (out / folder).mkdir(parents=True, exist_ok=True)
        (out / folder / f"{name}.txt").write_text("\n".join(rows) + "\n")
    for folder in sorted(f for f in traces.iterdir() if (out / f.name).is_dir()):
        hz = int(m[1]) if (m := re.search(r"hz(\d+)", folder.name)) else 250
        (out / folder.name / "costs.txt").write_text(costs(folder, 1_000_000 // hz))


main()
