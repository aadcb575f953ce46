// SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only
/*
 * The kernel's half of a live policy. It decides nothing: each thing that happens to a task of ours goes to user space
 * as one event of a ring buffer, and a task runs only after user space granted it a CPU. Own work, written against the
 * documentation of sched_ext; the vocabulary of user space is in event.rs and command.rs, the rules in docs/live.md.
 *
 * Who is runnable and not granted stands in one queue (WAIT) that no CPU serves. A grant moves it to the queue of its
 * CPU, from where ops.dispatch takes it. `turn` counts what user space was told of a task: a command that names an
 * older turn was decided in ignorance and is dropped, because the event that outdated it is on its way.
 */
#include <linux/bpf.h>
#include <bpf/bpf_helpers.h>
#include <stdbool.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>
#include "shim.h"

char _license[] SEC("license") = "Dual BSD/GPL";

/*
 * Whether the kernel queues tasks itself: a CPU leaves, the policy ends, the machine is suspended. Tasks are left alone
 * then. One that is sent away each time it runs, or whose every turn wakes the daemon, which takes its CPU, never
 * leaves the section of RCU that the end of the policy waits for.
 */
static bool is_bypassed(struct task_struct *p)
{
	const struct rq *rq = bpf_per_cpu_ptr(&runqueues, scx_bpf_task_cpu(p));
	return rq && rq->scx.flags & bpf_core_enum_value(enum scx_rq_flags, SCX_RQ_BYPASSING);
}

/* What runs without a grant gives way at once: the kernel keeps a task running across a change of its nice. */
static void go_away(struct task_struct *p)
{
	p->scx.slice = 0;
	scx_bpf_kick_cpu(bpf_get_smp_processor_id(), SCX_KICK_PREEMPT);
}

static bool is_granted(struct task *t)
{
	return t->is_told && t->granted == t->turn;
}

/* Whether the kernel runs it on its own account, without asking ops.enqueue. */
static bool is_excused(struct task_struct *p)
{
	/* Programmes like this one run with migration disabled, which counts for the running task. */
	bool is_itself = p == (struct task_struct *)bpf_get_current_task_btf();
	return (p->flags & PF_EXITING) || p->migration_disabled > is_itself;
}

static bool by_interrupt(void)
{
	if (!&__preempt_count)
		return ((struct task_struct *)bpf_get_current_task_btf())->pid == 0;
	int *count = bpf_this_cpu_ptr(&__preempt_count);
	return *count & IN_INTERRUPT;
}

/* The number of the running task plus one, 0 when it is none of ours. */
static __u32 current_key(void)
{
	struct task *t = bpf_task_storage_get(&tasks, bpf_get_current_task_btf(), 0, 0);
	return t && t->is_ours ? t->key + 1 : 0;
}

static void tell(struct task_struct *p, struct task *t, __u8 kind, __u16 flags, __u32 other)
{
	__u64 at = bpf_ktime_get_ns();
	struct event *e = bpf_ringbuf_reserve(&events, sizeof(*e), 0);
	if (!e) {
		__sync_fetch_and_add(&shared.lost, 1);
		return;
	}
	e->at = at;
	e->ran = p->se.sum_exec_runtime;
	e->mask = p->cpus_ptr->bits[0];
	e->key = t->key;
	e->pid = p->pid;
	e->tgid = p->tgid;
	e->turn = t->turn;
	e->other = other;
	e->cpu = scx_bpf_task_cpu(p);
	e->on = bpf_get_smp_processor_id();
	e->flags = flags;
	e->kind = kind;
	e->nice = p->static_prio - 120;
	bpf_probe_read_kernel(e->comm, sizeof(e->comm), p->comm);
	bpf_ringbuf_submit(e, 0);
}

SEC("struct_ops/select_cpu")
__s32 BPF_PROG(select_cpu, struct task_struct *p, __s32 prev_cpu, __u64 wake_flags)
{
	struct task *t = bpf_task_storage_get(&tasks, p, 0, 0);
	if (t)
		t->is_sync = !!(wake_flags & SCX_WAKE_SYNC);
	return prev_cpu;
}

/* Here and not in ops.enqueue, which is not asked about a running task whose nice or affinity changes. */
SEC("struct_ops/runnable")
void BPF_PROG(runnable, struct task_struct *p, __u64 enq_flags)
{
	struct task *t = bpf_task_storage_get(&tasks, p, 0, 0);
	__u16 flags = 0;
	if (!t || t->is_told || (p->flags & PF_EXITING))
		return;
	t->turn++;
	if (!(p->cpus_ptr->bits[0] & shared.managed)) {
		if (t->is_changing)
			tell(p, t, AWAY, 0, 0);
		t->is_changing = 0;
		return;
	}
	if (enq_flags & SCX_ENQ_WAKEUP) {
		flags |= IS_WAKEUP;
		if (by_interrupt())
			flags |= BY_INTERRUPT;
		if (t->is_sync)
			flags |= IS_SYNC;
	}
	t->is_told = 1;
	t->is_changing = t->is_sync = 0;
	tell(p, t, READY, flags, flags & IS_WAKEUP && !(flags & BY_INTERRUPT) ? current_key() : 0);
}

SEC("struct_ops/enqueue")
void BPF_PROG(enqueue, struct task_struct *p, __u64 enq_flags)
{
	struct task *t = bpf_task_storage_get(&tasks, p, 0, 0);
	if (!t || !t->is_told)
		return scx_bpf_dsq_insert(p, SCX_DSQ_GLOBAL, SCX_SLICE_DFL, 0);
	if (t->is_running) {
		t->turn++;
		tell(p, t, TURN_ENDED, t->is_yielding ? HAS_YIELDED : 0, 0);
	}
	t->is_running = t->is_yielding = 0;
	if (is_granted(t)) {
		scx_bpf_dsq_insert(p, t->cpu, t->slice, 0);
		return scx_bpf_kick_cpu(t->cpu, SCX_KICK_IDLE);
	}
	scx_bpf_dsq_insert(p, WAIT, 1, 0);
}

/* Whether that CPU of the policy is on its way offline. */
static bool is_leaving(__u32 cpu)
{
	const struct cpuhp_cpu_state *state = &cpuhp_state ? bpf_per_cpu_ptr(&cpuhp_state, cpu) : 0;
	bool is_managed = shared.managed >> cpu & 1;
	return is_managed && state && state->target < bpf_core_enum_value(enum cpuhp_state, CPUHP_ONLINE);
}

/*
 * Ends the policy when one of its CPUs leaves. The kernel does so by itself, but first waits for all who read under
 * RCU, and one of them may be queued there, where nothing is dispatched any more. Any CPU that looks for work finds
 * out.
 */
static void end_without_cpu(void)
{
	static char reason[] = "one of its CPUs goes offline";
	unsigned long long none[1] = { 0 };
	for (__u32 cpu = 0; cpu < CPUS && shared.managed >> cpu; cpu++)
		if (is_leaving(cpu))
			return scx_bpf_exit_bstr(0, reason, none, sizeof(none));
}

SEC("struct_ops/dispatch")
void BPF_PROG(dispatch, __s32 cpu, struct task_struct *prev)
{
	end_without_cpu();
	if ((__u32)cpu < CPUS && (shared.managed >> cpu & 1))
		scx_bpf_dsq_move_to_local(cpu);
}

SEC("struct_ops/running")
void BPF_PROG(running, struct task_struct *p)
{
	struct task *t = bpf_task_storage_get(&tasks, p, 0, 0);
	if (!t || !t->is_told || is_bypassed(p))
		return;
	if (!is_granted(t)) {
		if (!is_excused(p))
			go_away(p);
		return;
	}
	t->is_running = 1;
	tell(p, t, RUNNING, 0, 0);
	/* A task in its exit is queued by the kernel itself: sent away it would come back at once, and again. */
	if (t->to_stop == t->turn && !is_excused(p))
		go_away(p);
}

SEC("struct_ops/stopping")
void BPF_PROG(stopping, struct task_struct *p, bool runnable)
{
	struct task *t = bpf_task_storage_get(&tasks, p, 0, 0);
	if (t && runnable && t->is_running && !is_bypassed(p))
		tell(p, t, STOPPING, t->is_yielding ? HAS_YIELDED : 0, 0);
}

SEC("struct_ops/quiescent")
void BPF_PROG(quiescent, struct task_struct *p, __u64 deq_flags)
{
	struct task *t = bpf_task_storage_get(&tasks, p, 0, 0);
	__u16 flags = 0;
	if (!t || !t->is_told)
		return;
	/* A task that ends is moved between groups on its way: no change that matters to it any more. */
	if ((p->flags & PF_EXITING) && !(deq_flags & SCX_DEQ_SLEEP))
		return;
	if (t->is_running)
		flags |= WAS_RUNNING;
	if (deq_flags & SCX_DEQ_SLEEP) {
		flags |= TO_SLEEP;
		if (p->__state & TASK_DEAD)
			flags |= IS_DEAD;
		if (p->__state & TASK_UNINTERRUPTIBLE)
			flags |= IS_UNINTERRUPTIBLE;
	}
	t->turn++;
	t->is_told = t->is_running = t->is_yielding = 0;
	t->is_changing = !(flags & TO_SLEEP);
	tell(p, t, LEFT, flags, 0);
}

SEC("struct_ops/tick")
void BPF_PROG(tick, struct task_struct *p)
{
	struct task *t = bpf_task_storage_get(&tasks, p, 0, 0);
	if (t && t->is_running && shared.wants_ticks && !is_bypassed(p))
		tell(p, t, TICK, 0, 0);
}

SEC("struct_ops/yield")
bool BPF_PROG(yield, struct task_struct *from, struct task_struct *to)
{
	struct task *t = bpf_task_storage_get(&tasks, from, 0, 0);
	from->scx.slice = 0;
	if (t)
		t->is_yielding = 1;
	return false;
}

/* For every task of the machine: here memory can be waited for, in ops.enable it cannot. */
SEC("struct_ops.s/init_task")
__s32 BPF_PROG(init_task, struct task_struct *p, void *args)
{
	return bpf_task_storage_get(&tasks, p, 0, BPF_LOCAL_STORAGE_GET_F_CREATE) ? 0 : -ENOMEM;
}

SEC("struct_ops/enable")
void BPF_PROG(enable, struct task_struct *p)
{
	struct task *t = bpf_task_storage_get(&tasks, p, 0, 0);
	if (!t) {
		__sync_fetch_and_add(&shared.lost, 1);
		return;
	}
	__u32 turn = t->turn;
	*t = (struct task){ .turn = turn + 1, .key = __sync_fetch_and_add(&shared.keys, 1), .is_ours = 1 };
	__u32 by = current_key();
	tell(p, t, CREATED, 0, by == t->key + 1 ? 0 : by);
}

SEC("struct_ops/disable")
void BPF_PROG(disable, struct task_struct *p)
{
	struct task *t = bpf_task_storage_get(&tasks, p, 0, 0);
	if (!t)
		return;
	t->is_ours = t->is_told = 0;
	t->turn++;
	tell(p, t, GONE, 0, 0);
}

SEC("struct_ops.s/init")
__s32 BPF_PROG(init)
{
	__s32 error = scx_bpf_create_dsq(WAIT, -1);
	for (int cpu = 0; cpu < CPUS && !error; cpu++)
		error = scx_bpf_create_dsq(cpu, -1);
	return error;
}

SEC("struct_ops/exit")
void BPF_PROG(leave, struct scx_exit_info *ei)
{
	bpf_probe_read_kernel_str(shared.reason, sizeof(shared.reason), ei->reason);
	bpf_probe_read_kernel_str(shared.message, sizeof(shared.message), ei->msg);
	shared.exit_code = ei->exit_code;
	__sync_lock_test_and_set(&shared.exit_kind, ei->kind);
}

/* From the queue of the waiting to that of its CPU; false where it is not waiting, or began to after the look. */
static bool move(struct task_struct *p, struct command *c)
{
	struct bpf_iter_scx_dsq waiting;
	bool moved = false;
	if (!bpf_iter_scx_dsq_new(&waiting, WAIT, 0)) {
		scx_bpf_dsq_move_set_slice(&waiting, c->slice);
		moved = scx_bpf_dsq_move(&waiting, p, c->cpu, 0);
	}
	bpf_iter_scx_dsq_destroy(&waiting);
	return moved;
}

static void grant(struct task_struct *p, struct task *t, struct command *c)
{
	t->cpu = c->cpu;
	t->slice = c->slice;
	__sync_lock_test_and_set(&t->granted, c->turn);
	bpf_rcu_read_lock();
	/*
	 * Where it is not waiting it still runs, ungranted, and finds the grant in ops.enqueue. If that is just past the
	 * place where it looks for one, the first move waits for its lock and fails because the task came after the look
	 * began; the second finds it. The third is for a task that changes its CPU meanwhile.
	 */
	if (!move(p, c) && !move(p, c))
		move(p, c);
	bpf_rcu_read_unlock();
	scx_bpf_kick_cpu(c->cpu, SCX_KICK_IDLE);
}

static int apply_one(__u32 index, void *unused)
{
	struct command *c = &shared.commands[index % COMMANDS];
	struct task_struct *p = bpf_task_from_pid(c->pid);
	if (!p) {
		shared.outdated++;
		return 0;
	}
	struct task *t = bpf_task_storage_get(&tasks, p, 0, 0);
	if (!t || t->key != c->key || t->turn != c->turn) {
		shared.outdated++;
	} else if (c->kind == GRANT) {
		grant(p, t, c);
	} else {
		__sync_lock_test_and_set(&t->to_stop, c->turn);
		scx_bpf_kick_cpu(c->cpu, SCX_KICK_PREEMPT);
	}
	bpf_task_release(p);
	return 0;
}

SEC("syscall")
int apply(void *unused)
{
	bpf_loop(shared.count < COMMANDS ? shared.count : COMMANDS, apply_one, 0, 0);
	shared.applied_at = bpf_ktime_get_ns();
	return 0;
}

SEC(".struct_ops.link")
struct sched_ext_ops goodness = {
	.name = "goodness",
	.select_cpu = (void *)select_cpu,
	.runnable = (void *)runnable,
	.enqueue = (void *)enqueue,
	.dispatch = (void *)dispatch,
	.running = (void *)running,
	.stopping = (void *)stopping,
	.quiescent = (void *)quiescent,
	.tick = (void *)tick,
	.yield = (void *)yield,
	.init_task = (void *)init_task,
	.enable = (void *)enable,
	.disable = (void *)disable,
	.init = (void *)init,
	.exit = (void *)leave,
	.flags = SCX_OPS_ENQ_LAST | SCX_OPS_SWITCH_PARTIAL,
	/* The most there is: who waits how long is the policy's affair. watchdog.rs looks after the daemon. */
	.timeout_ms = 30000,
};
