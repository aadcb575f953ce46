//! Coverage of fio's job options: one table for the parser, its errors and `docs/fio.md`.

pub use crate::rtapp::coverage::Coverage;
use Coverage::{Honoured, NoEffect, NotHonoured};

/// One option of fio.
#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Its first name.
    pub name: &'static str,
    /// Other names of it.
    pub aliases: &'static [&'static str],
    /// Treatment of the option.
    pub coverage: Coverage,
    /// Its meaning here, or why it is not honoured.
    pub meaning: &'static str,
}

const fn key(name: &'static str, coverage: Coverage, meaning: &'static str) -> Key {
    Key { name, aliases: &[], coverage, meaning }
}

const fn alias(aliases: &'static [&'static str], of: Key) -> Key {
    Key { aliases, ..of }
}

/// The options of fio 3, those of the load first. `options.txt` has the names by fio's own help.
pub const KEYS: &[Key] = &[
    alias(
        &["readwrite"],
        key("rw", Honoured, "read, write, trim, rw, trimwrite, and each with rand before it; `:N` as in fio"),
    ),
    key("rwmixread", Honoured, "share of reads in a mixed job, in hundredths; 50"),
    key("rwmixwrite", Honoured, "share of writes; the later of the two counts"),
    alias(&["blocksize"], key("bs", Honoured, "bytes of one I/O; 4k; also for reads, writes and trims apart")),
    alias(&["blocksize_range"], key("bsrange", Honoured, "a range of sizes, drawn in steps of the smallest")),
    key("bssplit", Honoured, "sizes with their shares: `4k/60:64k/40`"),
    key("size", Honoured, "bytes or hundredths; the whole disk unless given"),
    key("io_size", Honoured, "bytes to move where that is not `size`"),
    key("number_ios", Honoured, "the job ends after so many I/Os"),
    key("loops", Honoured, "how often the whole is done; 1"),
    alias(&["fileoffset"], key("offset", Honoured, "where the job's part of the file begins; bytes or hundredths")),
    key("offset_increment", Honoured, "how much further each clone of the job begins"),
    alias(&["iodepth_batch_submit"], key("iodepth_batch", Honoured, "how many I/Os are submitted at once; 1")),
    key("iodepth", Honoured, "I/Os under way at a time; 1 with a synchronous engine"),
    alias(
        &["iodepth_batch_complete"],
        key("iodepth_batch_complete_min", Honoured, "completions waited for at once; 1"),
    ),
    key("iodepth_batch_complete_max", Honoured, "completions taken at once; as many as waited for"),
    key("iodepth_low", Honoured, "submit again when so few are under way; `iodepth`"),
    key(
        "ioengine",
        Honoured,
        "by its class: sync, psync, vsync, pvsync, pvsync2, mmap, splice wait for each I/O; libaio, \
            io_uring, posixaio, windowsaio, solarisaio do not",
    ),
    key("direct", Honoured, "past the page cache; 0"),
    key("buffered", Honoured, "the opposite of `direct`"),
    key("sync", Honoured, "O_SYNC (1, sync) or O_DSYNC (dsync): each write is durable when it completes"),
    key("fsync", Honoured, "fsync after so many writes"),
    key("fdatasync", Honoured, "fdatasync after so many writes"),
    key("end_fsync", Honoured, "fsync when the job has written all"),
    key("numjobs", Honoured, "clones of the job"),
    key("thinktime", Honoured, "pause after I/O; µs unless a unit is given"),
    key("thinktime_spin", Honoured, "how much of the pause is CPU time"),
    key("thinktime_blocks", Honoured, "I/Os between pauses; 1"),
    key("rate", Honoured, "bytes per second; for reads, writes and trims apart"),
    key("rate_iops", Honoured, "I/Os per second, likewise"),
    key("rate_process", Honoured, "linear: evenly spaced; poisson: exponential gaps"),
    key("prio", Honoured, "I/O priority within the class, 0 (first) to 7"),
    key("prioclass", Honoured, "1 real time, 2 best effort, 3 idle, 0 none"),
    alias(&["timeout"], key("runtime", Honoured, "seconds until the job is stopped")),
    key("time_based", Honoured, "go on until `runtime`, from the beginning again when all is done"),
    key("ramp_time", Honoured, "seconds that are run and not measured"),
    key("startdelay", Honoured, "seconds until the job begins; a range is not honoured"),
    alias(&["wait_for_previous"], key("stonewall", Honoured, "begin when all jobs above have ended")),
    key("group_reporting", Honoured, "one line in reports for the clones of a job"),
    key("new_group", Honoured, "begin a new line in reports"),
    key("randseed", Honoured, "random seed; a stream of this program's own, not fio's"),
    key("randrepeat", Honoured, "1 (the default): the same places in every run; 0: other places with each --seed"),
    key("allrandrepeat", Honoured, "the same directions, sizes and gaps too"),
    key("norandommap", Honoured, "places may repeat before all were used"),
    key("name", Honoured, "name of the job in place of its section's"),
    key("filename", Honoured, "files or devices, `:` between them; each I/O takes the next"),
    key("directory", Honoured, "put before the names of files"),
    alias(
        &["nr_files"],
        key("nrfiles", Honoured, "files of the job where `filename` does not name them; they share `size`"),
    ),
    key("kb_base", Honoured, "what k is worth: 1024 (then ki is 1000) or 1000"),
    key(
        "random_distribution",
        Honoured,
        "random, zipf, pareto, normal, zoned, zoned_abs; one for all directions, `:CENTER` as in fio",
    ),
    key("random_generator", NoEffect, "there is one generator"),
    key("softrandommap", NoEffect, "the map of used places always finds memory, or the job is refused"),
    key("description", NoEffect, "text"),
    alias(&["threads"], key("thread", NoEffect, "threads and processes are the same here")),
    key("unlink", NoEffect, "no file is made"),
    key("unlink_each_loop", NoEffect, "no file is made"),
    key("create_serialize", NoEffect, "no file is made"),
    key("create_fsync", NoEffect, "no file is made"),
    key("create_on_open", NoEffect, "no file is made"),
    key("create_only", NotHonoured, "no file is made, so the job would do nothing"),
    key("allow_file_create", NoEffect, "no file is made"),
    key("allow_mounted_write", NoEffect, "nothing is written"),
    key("fallocate", NoEffect, "files exist, one piece after the other"),
    key("overwrite", NoEffect, "files exist"),
    key("file_append", NotHonoured, "files do not grow"),
    alias(&["fill_fs"], key("fill_device", Honoured, "size is that of the whole disk")),
    key("filesize", Honoured, "bytes of each file; a range is not honoured"),
    key("filename_format", NotHonoured, "write `filename`"),
    key("unique_filename", NoEffect, "concerns clients of a server"),
    key("openfiles", NotHonoured, "all files are open"),
    key("opendir", NotHonoured, "folders are not read"),
    key("file_service_type", Honoured, "roundrobin; others are not honoured"),
    key("lockfile", NotHonoured, "files are not locked"),
    key("invalidate", NoEffect, "every run begins with an empty page cache"),
    key("pre_read", NotHonoured, "every run begins with an empty page cache"),
    key("fadvise_hint", NoEffect, "no hint is given"),
    key("fsync_on_close", NotHonoured, "write `end_fsync`"),
    key("sync_file_range", NotHonoured, "write `fdatasync`"),
    key("write_barrier", NotHonoured, "write `fsync`"),
    alias(&["ba"], key("blockalign", Honoured, "random places are multiples of it, and may repeat; the smallest size")),
    alias(&["blocksize_unaligned"], key("bs_unaligned", NotHonoured, "sizes are multiples of the smallest")),
    key("bs_is_seq_rand", NotHonoured, "sizes are for reads, writes and trims"),
    key("rw_sequencer", Honoured, "where a random job goes on between new places: sequential or identical"),
    key("percentage_random", Honoured, "share of new places of a random job, in hundredths; 100; else it goes on"),
    key("unified_rw_reporting", NoEffect, "reports have both"),
    key(
        "io_submit_mode",
        Honoured,
        "inline, offload: with a rate, an inline job has its I/Os before it sleeps; else they are the same",
    ),
    key("io_limit", NotHonoured, "older name; write `io_size`"),
    alias(
        &["ratemin"],
        key("rate_min", NoEffect, "fio may end the job early for it; here it goes on, and a note says so"),
    ),
    key("rate_iops_min", NoEffect, "fio may end the job early for it; here it goes on, and a note says so"),
    alias(&["ratecycle"], key("rate_cycle", NoEffect, "concerns `rate_min`")),
    key("rate_ignore_thinktime", NotHonoured, "pauses count"),
    key("thinktime_blocks_type", NotHonoured, "pauses come after completions"),
    key("thinktime_iotime", NotHonoured, "write `thinktime_blocks`"),
    key("latency_target", NotHonoured, "the depth is fixed"),
    key("latency_window", NotHonoured, "the depth is fixed"),
    key("latency_percentile", NotHonoured, "the depth is fixed"),
    key("latency_run", NotHonoured, "the depth is fixed"),
    key("max_latency", NoEffect, "fio may end the job early for it; here it goes on, and a note says so"),
    alias(
        &["ss"],
        key("steadystate", NoEffect, "fio may end the job early for it; here it goes on, and a note says so"),
    ),
    key("exitall", Honoured, "when this job ends, others end at their next I/O; whom: `exit_what`"),
    key(
        "exit_what",
        Honoured,
        "whom `exitall` ends: group, stonewall (both: jobs that run beside it), all (later ones too)",
    ),
    key("wait_for", Honoured, "begin when the job above has ended; only where that is the one named"),
    key("serialize_overlap", NotHonoured, "overlapping I/O goes on"),
    key("cmdprio_percentage", NotHonoured, "a job has one priority"),
    key("cmdprio_class", NotHonoured, "a job has one priority"),
    key("cmdprio", NotHonoured, "a job has one priority"),
    key("cmdprio_bssplit", NotHonoured, "a job has one priority"),
    key("nice", NotHonoured, "CPU priorities are not taken from job files"),
    key("cpus_allowed", NotHonoured, "jobs run on any CPU"),
    key("cpumask", NotHonoured, "jobs run on any CPU"),
    key("cpus_allowed_policy", NotHonoured, "jobs run on any CPU"),
    key("cpuload", NotHonoured, "only I/O is done; write an experiment file for CPU work"),
    key("cpuchunks", NotHonoured, "only I/O is done"),
    key("numa_cpu_nodes", NoEffect, "CPUs are not divided into nodes"),
    key("numa_mem_policy", NoEffect, "memory is not modelled"),
    key("cgroup", NotHonoured, "groups are those of an experiment file, not of jobs"),
    key("cgroup_weight", NotHonoured, "groups are those of an experiment file, not of jobs"),
    key("cgroup_nodelete", NotHonoured, "groups are those of an experiment file, not of jobs"),
    key("ioscheduler", NotHonoured, "the elevator is what is compared; choose it with --elevator"),
    key("flow", Honoured, "the jobs of a flow do I/Os in proportion to their weights"),
    key("flow_id", Honoured, "number of the flow; 0"),
    key("flow_sleep", Honoured, "pause of a job that is ahead of its flow, µs; it asks again after 10 µs otherwise"),
    key(
        "zonemode",
        Honoured,
        "none, strided: a sequential job leaves gaps; strided with `zonesize`, else none; zbd is not honoured",
    ),
    key("zonesize", Honoured, "bytes before a gap"),
    key("zonerange", Honoured, "bytes from one zone to the next, without `zoneskip`; `zonesize`"),
    key("zoneskip", Honoured, "bytes of the gap"),
    key("max_open_zones", NoEffect, "concerns zonemode=zbd"),
    key(
        "read_iolog",
        Honoured,
        "does the I/O of this log, version 2 or 3, in place of its own; `:` between those of clones",
    ),
    key("replay_no_stall", Honoured, "without the times of the log"),
    key("replay_redirect", Honoured, "all on this file"),
    key("replay_time_scale", Honoured, "speed in hundredths; 100"),
    key("replay_align", Honoured, "offsets of a log become multiples of it"),
    key("replay_scale", Honoured, "offsets of a log are divided by it"),
    key("write_iolog", NoEffect, "no log is written"),
    key("verify", Honoured, "what was written is read again when the job has written all; any sum"),
    key("do_verify", Honoured, "0: nothing is read again"),
    key("verify_fatal", NoEffect, "data are not modelled"),
    key("verify_backlog", Honoured, "read again after so many writes"),
    key("verify_async", NoEffect, "data are not modelled"),
    key("trim_percentage", NotHonoured, "write `rw=trimwrite`"),
    key("trim_backlog", NotHonoured, "write `rw=trimwrite`"),
    alias(&["mem"], key("iomem", NoEffect, "memory is not modelled")),
    alias(&["mem_align"], key("iomem_align", NoEffect, "memory is not modelled")),
    key("hugepage-size", NoEffect, "memory is not modelled"),
    key("lockmem", NoEffect, "memory is not modelled"),
    key("refill_buffers", NoEffect, "data are not modelled"),
    key("scramble_buffers", NoEffect, "data are not modelled"),
    key("zero_buffers", NoEffect, "data are not modelled"),
    key("buffer_pattern", NoEffect, "data are not modelled"),
    key("buffer_compress_percentage", NoEffect, "data are not modelled"),
    key("buffer_compress_chunk", NoEffect, "data are not modelled"),
    key("dedupe_percentage", NoEffect, "data are not modelled"),
    key("exec_prerun", NoEffect, "no program is started"),
    key("exec_postrun", NoEffect, "no program is started"),
    key("uid", NoEffect, "there are no users"),
    key("gid", NoEffect, "there are no users"),
    key("continue_on_error", NoEffect, "I/O does not fail"),
    key("ignore_error", NoEffect, "I/O does not fail"),
    key("error_dump", NoEffect, "I/O does not fail"),
    key("gtod_reduce", NoEffect, "measuring costs nothing"),
    key("gtod_cpu", NoEffect, "measuring costs nothing"),
    key("clocksource", NoEffect, "time is simulated"),
    key("job_start_clock_id", NoEffect, "time is simulated"),
    key("disable_lat", NoEffect, "concerns fio's output"),
    key("disable_clat", NoEffect, "concerns fio's output"),
    key("disable_slat", NoEffect, "concerns fio's output"),
    alias(&["disable_bw"], key("disable_bw_measurement", NoEffect, "concerns fio's output")),
    key("clat_percentiles", NoEffect, "concerns fio's output"),
    key("lat_percentiles", NoEffect, "concerns fio's output"),
    key("slat_percentiles", NoEffect, "concerns fio's output"),
    key("percentile_list", NoEffect, "concerns fio's output"),
    key("significant_figures", NoEffect, "concerns fio's output"),
    key("stats", NoEffect, "concerns fio's output"),
    key("write_bw_log", NoEffect, "no log is written"),
    key("write_lat_log", NoEffect, "no log is written"),
    key("write_iops_log", NoEffect, "no log is written"),
    key("write_hist_log", NoEffect, "no log is written"),
    key("log_avg_msec", NoEffect, "no log is written"),
    key("log_hist_msec", NoEffect, "no log is written"),
    key("log_max_value", NoEffect, "no log is written"),
    key("log_offset", NoEffect, "no log is written"),
    key("log_unix_epoch", NoEffect, "no log is written"),
    key("per_job_logs", NoEffect, "no log is written"),
    key("bwavgtime", NoEffect, "concerns fio's output"),
    key("iopsavgtime", NoEffect, "concerns fio's output"),
    key("unit_base", NoEffect, "concerns fio's output"),
    key("hipri", NotHonoured, "polling for completions is not modelled"),
    key("sqthread_poll", NoEffect, "submitting costs what the machine says"),
    key("registerfiles", NoEffect, "submitting costs what the machine says"),
    key("fixedbufs", NoEffect, "submitting costs what the machine says"),
    key("nonvectored", NoEffect, "submitting costs what the machine says"),
    key("userspace_reap", NoEffect, "submitting costs what the machine says"),
    alias(&["ss_dur"], key("steadystate_duration", NoEffect, "concerns `steadystate`")),
    alias(&["ss_ramp"], key("steadystate_ramp_time", NoEffect, "concerns `steadystate`")),
    key("verify_backlog_batch", NoEffect, "all that waits is read"),
    key("verify_dump", NoEffect, "data are not modelled"),
    key("verify_interval", NoEffect, "data are not modelled"),
    key("verify_offset", NoEffect, "data are not modelled"),
    key("verify_pattern", NoEffect, "data are not modelled"),
    key("verify_state_load", NoEffect, "data are not modelled"),
    key("verify_state_save", NoEffect, "data are not modelled"),
    key("experimental_verify", NoEffect, "data are not modelled"),
    key("dedupe_global", NoEffect, "data are not modelled"),
    key("dedupe_mode", NoEffect, "data are not modelled"),
    key("dedupe_working_set_percentage", NoEffect, "data are not modelled"),
    key("disk_util", NoEffect, "concerns fio's output"),
    key("block_error_percentiles", NoEffect, "concerns fio's output"),
    key("log_alternate_epoch", NoEffect, "no log is written"),
    key("log_alternate_epoch_clock_id", NoEffect, "no log is written"),
    key("log_compression", NoEffect, "no log is written"),
    key("log_compression_cpus", NoEffect, "no log is written"),
    key("log_entries", NoEffect, "no log is written"),
    key("log_hist_coarseness", NoEffect, "no log is written"),
    key("log_prio", NoEffect, "no log is written"),
    key("log_store_compressed", NoEffect, "no log is written"),
    key("exitall_on_error", NoEffect, "I/O does not fail"),
    key("thp", NoEffect, "memory is not modelled"),
    key("write_hint", NoEffect, "no hint is given"),
    key("sqthread_poll_cpu", NoEffect, "submitting costs what the machine says"),
    key("ignore_zone_limits", NoEffect, "concerns zonemode=zbd"),
    key("read_beyond_wp", NoEffect, "concerns zonemode=zbd"),
    key("job_max_open_zones", NoEffect, "concerns zonemode=zbd"),
    key("zonecapacity", NoEffect, "concerns zonemode=zbd"),
    key("zone_reset_frequency", NoEffect, "concerns zonemode=zbd"),
    key("zone_reset_threshold", NoEffect, "concerns zonemode=zbd"),
    key("merge_blktrace_file", NoEffect, "no traces are merged"),
    key("merge_blktrace_iters", NoEffect, "no traces are merged"),
    key("merge_blktrace_scalars", NoEffect, "no traces are merged"),
    key("trim_verify_zero", NoEffect, "data are not modelled"),
    key("force_async", NoEffect, "submitting costs what the machine says"),
    key("atomic", NotHonoured, "atomic writes are not modelled"),
    key("cmd_type", NotHonoured, "commands are those of block devices"),
    key("hipri_percentage", NotHonoured, "polling for completions is not modelled"),
    key("nowait", NotHonoured, "a full queue makes the job wait"),
    key("offset_align", NotHonoured, "write `offset`"),
    key("profile", NotHonoured, "write the jobs themselves"),
    key("read_iolog_chunked", NoEffect, "a log is read at once"),
    key("replay_skip", NoEffect, "as in fio for iologs; it counts for blktrace files"),
    key("trim_backlog_batch", NotHonoured, "write `rw=trimwrite`"),
    key("uncached", NotHonoured, "write `direct`"),
    key("verify_only", NotHonoured, "write `rw=read`"),
];

/// The option of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Key> {
    KEYS.iter().find(|key| key.name == name || key.aliases.contains(&name))
}

/// Options by which fio may end a job early; here it goes on, and a note says so.
pub const STOPS: [&str; 4] = ["rate_min", "rate_iops_min", "max_latency", "steadystate"];

/// Every name, for suggestions.
pub fn names() -> impl Iterator<Item = &'static str> {
    KEYS.iter().flat_map(|key| std::iter::once(key.name).chain(key.aliases.iter().copied()))
}

/// The coverage list as the table of `docs/fio.md`.
#[must_use]
pub fn table() -> String {
    let mut text = String::from("| option | here | meaning |\n|---|---|---|\n");
    for key in KEYS {
        let names: Vec<String> = std::iter::once(&key.name).chain(key.aliases).map(|n| format!("`{n}`")).collect();
        text += &format!("| {} | {} | {} |\n", names.join(", "), key.coverage.name(), key.meaning);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_is_listed_once() {
        let mut all: Vec<&str> = names().collect();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    /// So "there is no option" is said only of what fio does not have.
    #[test]
    fn every_option_of_fios_own_help_is_listed() {
        let listed = include_str!("options.txt").lines().filter(|line| !line.starts_with('#'));
        let mut count = 0;
        for name in listed.flat_map(str::split_whitespace) {
            count += 1;
            assert!(find(name).is_some(), "{name} is an option of fio and not listed");
        }
        assert!(count > 200, "{count}");
    }

    #[test]
    fn the_documentation_lists_exactly_the_table() {
        let page = include_str!("../../../../docs/fio.md");
        assert!(page.contains(&table()), "docs/fio.md must contain this table:\n{}", table());
    }
}
