/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0-only */
/*
 * What the shim shares with user space, and what it needs to know of the kernel: only the fields it uses, whose places
 * are found in the running kernel when the shim is loaded.
 */
#pragma once

enum { CPUS = 64, COMMANDS = 64, WAIT = 0x1000 };

/* Kinds of events and of commands: event.rs and command.rs have the same numbers. */
enum { CREATED = 1, READY, RUNNING, STOPPING, TURN_ENDED, LEFT, TICK, GONE, AWAY };
enum { GRANT = 1, PREEMPT };

/* Flags of events. */
enum {
	IS_WAKEUP = 1, IS_SYNC = 2, BY_INTERRUPT = 4, HAS_YIELDED = 8, WAS_RUNNING = 16, TO_SLEEP = 32, IS_DEAD = 64,
	IS_UNINTERRUPTIBLE = 128,
};

struct event {
	__u64 at, ran, mask;
	__u32 key, pid, tgid, turn, other;
	__u16 cpu, on, flags;
	__u8 kind;
	__s8 nice;
	__u32 unused;
	char comm[16];
};

struct command {
	__u64 slice;
	__u32 key, pid, turn;
	__u16 cpu, kind;
};

/* What the shim keeps of a task. */
struct task {
	__u64 slice;
	__u32 key, turn, granted, to_stop;
	__u32 cpu;
	__u8 is_ours, is_told, is_running, is_yielding, is_changing, is_sync;
};

/* Mapped into the daemon. */
struct {
	__u64 managed, lost, outdated, applied_at, exit_code;
	__u32 keys, count, exit_kind, wants_ticks;
	char reason[64], message[128];
	struct command commands[COMMANDS];
} shared SEC(".bss");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4 << 20);
} events SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct task);
} tasks SEC(".maps");

#define OF_KERNEL __attribute__((preserve_access_index))

struct cpumask { unsigned long bits[1]; } OF_KERNEL;
struct sched_entity { __u64 sum_exec_runtime; } OF_KERNEL;
struct sched_ext_entity { __u64 slice; } OF_KERNEL;
struct task_struct {
	unsigned int __state, flags;
	int pid, tgid, static_prio;
	unsigned short migration_disabled;
	const struct cpumask *cpus_ptr;
	struct sched_entity se;
	struct sched_ext_entity scx;
	char comm[16];
} OF_KERNEL;
struct scx_rq { unsigned int flags; } OF_KERNEL;
struct rq { struct scx_rq scx; } OF_KERNEL;
enum scx_rq_flags { SCX_RQ_BYPASSING = 1 << 4 };
enum cpuhp_state { CPUHP_ONLINE = 1000 };
struct cpuhp_cpu_state { enum cpuhp_state target; } OF_KERNEL;
enum scx_exit_kind { SCX_EXIT_NONE };
struct scx_exit_info {
	enum scx_exit_kind kind;
	__s64 exit_code;
	const char *reason;
	char *msg;
} OF_KERNEL;

struct scx_init_task_args;

/* The members we set; the loader finds each by its name. */
struct sched_ext_ops {
	__s32 (*select_cpu)(struct task_struct *, __s32, __u64);
	void (*enqueue)(struct task_struct *, __u64);
	void (*dispatch)(__s32, struct task_struct *);
	void (*tick)(struct task_struct *);
	void (*runnable)(struct task_struct *, __u64);
	void (*running)(struct task_struct *);
	void (*stopping)(struct task_struct *, bool);
	void (*quiescent)(struct task_struct *, __u64);
	bool (*yield)(struct task_struct *, struct task_struct *);
	__s32 (*init_task)(struct task_struct *, struct scx_init_task_args *);
	void (*enable)(struct task_struct *);
	void (*disable)(struct task_struct *);
	__s32 (*init)(void);
	void (*exit)(struct scx_exit_info *);
	__u64 flags;
	__u32 timeout_ms;
	char name[128];
};

/* The kernel's own numbers. */
#define ENOMEM 12
#define PF_EXITING 0x4
#define TASK_UNINTERRUPTIBLE 0x2
#define TASK_DEAD 0x80
#define SCX_WAKE_SYNC 0x10
#define SCX_ENQ_WAKEUP 1
#define SCX_DEQ_SLEEP 1
#define SCX_KICK_IDLE 1
#define SCX_KICK_PREEMPT 2
#define SCX_OPS_ENQ_LAST 2
#define SCX_OPS_SWITCH_PARTIAL 8
#define SCX_DSQ_GLOBAL (1ULL << 63 | 1)
#define SCX_SLICE_DFL 20000000
/* Hard interrupts, non-maskable ones, and soft interrupts being served (not merely held off). */
#define IN_INTERRUPT 0xff0100

struct bpf_iter_scx_dsq { __u64 opaque[6]; } __attribute__((aligned(8)));

extern const int __preempt_count __ksym __weak;
extern const struct rq runqueues __ksym;
extern const struct cpuhp_cpu_state cpuhp_state __ksym __weak;
extern void scx_bpf_exit_bstr(__s64, char *, unsigned long long *, __u32) __ksym;
extern void scx_bpf_dsq_insert(struct task_struct *, __u64, __u64, __u64) __ksym;
extern bool scx_bpf_dsq_move_to_local(__u64) __ksym;
extern void scx_bpf_kick_cpu(__s32, __u64) __ksym;
extern __s32 scx_bpf_task_cpu(const struct task_struct *) __ksym;
extern __s32 scx_bpf_create_dsq(__u64, __s32) __ksym;
extern bool scx_bpf_dsq_move(struct bpf_iter_scx_dsq *, struct task_struct *, __u64, __u64) __ksym;
extern void scx_bpf_dsq_move_set_slice(struct bpf_iter_scx_dsq *, __u64) __ksym;
extern int bpf_iter_scx_dsq_new(struct bpf_iter_scx_dsq *, __u64, __u64) __ksym;
extern void bpf_iter_scx_dsq_destroy(struct bpf_iter_scx_dsq *) __ksym;
extern struct task_struct *bpf_task_from_pid(__s32) __ksym;
extern void bpf_task_release(struct task_struct *) __ksym;
extern void bpf_rcu_read_lock(void) __ksym;
extern void bpf_rcu_read_unlock(void) __ksym;
