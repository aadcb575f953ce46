#!/usr/bin/env python3
"""Reads the sample's Perfetto trace with Perfetto's own Python package and compares it with the JSON report.

    cargo run --release -p goodness-report --example sample_report -- DIRECTORY 20000
    python3 tests/python/check_perfetto.py DIRECTORY

Needs the packages `perfetto` and `protobuf`; without them it says that it checked nothing. The trace
processor itself is a separate download, so this reads the messages, not Perfetto's tables.
"""

import collections
import json
import pathlib
import sys

try:
    from perfetto.protos.perfetto.trace.perfetto_trace_pb2 import Trace
except ImportError as missing:
    remedy = "pip install perfetto protobuf"
    print(f"SKIPPED: the Perfetto trace was not checked: {missing}. Remedy: {remedy}", file=sys.stderr)
    sys.exit(0)

COUNTER = 4
IN_INTERRUPT = 8
DEAD = 16


def switches(trace):
    """(time, cpu, previous state, next pid, priority, name) of every switch, as the trace processor expands them."""
    for packet in trace.packet:
        compact = packet.ftrace_events.compact_sched
        columns = (
            compact.switch_timestamp,
            compact.switch_prev_state,
            compact.switch_next_pid,
            compact.switch_next_prio,
            compact.switch_next_comm_index,
        )
        assert len({len(c) for c in columns}) == 1, "columns of different lengths"
        at = 0
        for delta, state, pid, priority, comm in zip(*columns):
            at += delta
            yield at, packet.ftrace_events.cpu, state, pid, priority, compact.intern_table[comm]


def check_frame(trace):
    """Clock first, one sequence, no unknown field, CPUs and tasks named."""
    first = trace.packet[0]
    assert first.clock_snapshot.primary_trace_clock == 6, "the first packet sets the clock"
    assert first.sequence_flags & 1, "the first packet clears the state"
    assert {p.trusted_packet_sequence_id for p in trace.packet} == {1}
    assert trace.SerializeToString(), "the messages can be written again"
    threads = {t.tid: t.name for p in trace.packet for t in p.process_tree.threads}
    processes = {q.pid for p in trace.packet for q in p.process_tree.processes}
    assert threads and 0 not in threads and processes <= set(threads)
    assert {t.tgid for p in trace.packet for t in p.process_tree.threads} == processes
    return threads


def check_schedule(trace, threads, policy, end):
    """Every switch follows from the one before, and CPU time and switches per task are those of the report."""
    running, since = {}, {}
    cpu_time, count, last = collections.Counter(), collections.Counter(), {}
    for at, cpu, state, pid, priority, name in switches(trace):
        assert at >= last.get(cpu, 0), f"cpu {cpu} goes back in time at {at}"
        last[cpu] = at
        assert state in (0, 1, 2, DEAD), state
        assert 0 <= priority < 140, priority
        assert name == (threads[pid] if pid else f"swapper/{cpu}"), name
        previous = running.get(cpu, 0)
        cpu_time[previous] += at - since.get(cpu, 0)
        running[cpu], since[cpu] = pid, at
        count[pid] += 1
    for cpu, pid in running.items():
        cpu_time[pid] += end - since[cpu]
    for task in policy["tasks"]:
        assert cpu_time[task["id"]] == task["cpu_time_ns"], f"CPU time of {task['name']} {task['id']}"
        assert count[task["id"]] == task["switches"], f"switches of {task['name']} {task['id']}"
    return sum(count[t["id"]] for t in policy["tasks"])


def check_wakeups(trace, threads, policy):
    """Each wake-up names who woke whom; an interrupt is marked as one."""
    count, last = collections.Counter(), {}
    for packet in trace.packet:
        for event in packet.ftrace_events.event:
            waking = event.sched_waking
            cpu = packet.ftrace_events.cpu
            assert waking.target_cpu == cpu and waking.comm == threads[waking.pid]
            assert (event.pid == 0) == bool(event.common_flags & IN_INTERRUPT)
            assert event.pid == 0 or event.pid in threads
            count[waking.pid] += 1
    for task in policy["tasks"]:
        assert count[task["id"]] == task["wakeups"], f"wake-ups of {task['name']} {task['id']}"
    return sum(count.values())


def queued_by_events(trace):
    """(time, change) of the number of queued tasks, from wake-ups and switches alone."""
    for packet in trace.packet:
        for event in packet.ftrace_events.event:
            yield event.timestamp, 1
    running = {}
    for at, cpu, state, pid, _, _ in switches(trace):
        if running.get(cpu, 0) and state == 0:
            yield at, 1
        if pid:
            yield at, -1
        running[cpu] = pid


def check_counters(trace, cpus, end):
    """One counter track for each CPU; at any moment their sum is what wake-ups and switches leave queued."""
    described = [p.track_descriptor for p in trace.packet if p.HasField("track_descriptor")]
    tracks = {track.uuid: track.name for track in described if track.HasField("counter")}
    assert len(tracks) == cpus, tracks
    values = []
    for packet in trace.packet:
        if packet.HasField("track_event") and packet.track_event.type == COUNTER:
            event = packet.track_event
            assert event.track_uuid in tracks
            assert not values or packet.timestamp >= values[-1][0], "counters go back in time"
            values.append((packet.timestamp, event.track_uuid, event.counter_value))
    changes = sorted(queued_by_events(trace))
    # Not at the very end: who waits there was never switched in, so its wake-up is not in the trace.
    for moment in (end * tenth // 10 for tenth in range(1, 9)):
        counted = {track: value for at, track, value in values if at <= moment}
        expected = sum(change for at, change in changes if at <= moment)
        assert sum(counted.values()) == expected, f"{sum(counted.values())} queued at {moment}, not {expected}"
    return len(values)


def check_flows(trace):
    """Each wake-up by a task is an arrow: one instant where it starts, one where it ends, on tracks of threads."""
    tracks = {p.track_descriptor.uuid for p in trace.packet if p.track_descriptor.HasField("thread")}
    starts, ends = {}, {}
    for packet in trace.packet:
        event = packet.track_event
        for flows, found in ((event.flow_ids, starts), (event.terminating_flow_ids, ends)):
            for flow in flows:
                assert flow not in found and event.track_uuid in tracks
                found[flow] = packet.timestamp
    assert starts.keys() == ends.keys() and all(starts[flow] <= ends[flow] for flow in starts)
    by_tasks = sum(event.pid != 0 for p in trace.packet for event in p.ftrace_events.event)
    assert len(starts) == by_tasks, f"{len(starts)} arrows of {by_tasks} wake-ups by tasks"
    return len(starts)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: check_perfetto.py DIRECTORY (with report.json and report.pftrace of the sample)")
    directory = pathlib.Path(sys.argv[1])
    report = json.loads((directory / "report.json").read_text())
    trace = Trace()
    trace.ParseFromString((directory / "report.pftrace").read_bytes())
    policy = report["policies"][0]
    threads = check_frame(trace)
    slices = check_schedule(trace, threads, policy, report["simulated_ns"])
    wakeups = check_wakeups(trace, threads, policy)
    counters = check_counters(trace, report["machine"]["cpus"], report["simulated_ns"])
    flows = check_flows(trace)
    print(f"{slices} slices, {wakeups} wake-ups, {flows} arrows and {counters} counter values agree with the report")
    print("5 passed, 0 failed")


main()
