//! Cgroups of a recording: an arm that names one gives it another weight or limit, and has a command.

use goodness::{Arm, Circumstances, Contender, OpenOptions, Plan, Runs, Work, open, unwatched};
use goodness_core::Seed;
use goodness_policies::eevdf::{self, Eevdf};
use goodness_report::model::{Details, Input};
use goodness_sim::{Options, simulate};
use goodness_trace::{FtraceWriter, TaskLabel};
use std::path::{Path, PathBuf};

/// Two tasks of equal needs in groups of their own.
const WORK: &str = r#"
duration = "2s"
machine = { cpus = 1, hz = 1000 }
group = [ { name = "web" }, { name = "batch" } ]

[[task]]
name = "server"
group = "web"
program = [ { compute = "20ms" }, { sleep = "100us" } ]

[[task]]
name = "cruncher"
group = "batch"
program = [ { compute = "20ms" }, { sleep = "100us" } ]
"#;

/// The recorded cgroups; the weights and limits are those of cgroups that were given none.
const HEADER: &str = r#"# goodness: {"recording":{"version":1,"kernel":{"release":"6.18.0","hz":1000},"members":[1,2]}}
# goodness: {"task":{"pid":1,"tgid":1,"comm":"server","switches":9,"cgroup":"/system.slice/web.service"}}
# goodness: {"task":{"pid":2,"tgid":2,"comm":"cruncher","switches":9,"cgroup":"/system.slice/batch"}}
# goodness: {"group":{"path":"/system.slice/web.service","weight":100,"quota_us":null,"period_us":100000}}
# goodness: {"group":{"path":"/system.slice/batch","weight":100,"quota_us":null,"period_us":100000}}
"#;

fn opened(path: &Path) -> Work {
    open(path.to_str().expect("a path"), &OpenOptions::default(), &unwatched).unwrap_or_else(|why| panic!("{why}"))
}

/// A recording of that work in `folder`, with `header`.
fn recording(folder: &Path, header: &str) -> PathBuf {
    let (file, path) = (folder.join("work.toml"), folder.join("trace.txt"));
    std::fs::write(&file, WORK).unwrap();
    let Work { source, machine, .. } = opened(&file);
    let work = source.build(Seed(1), 0);
    let label = |name: &String| TaskLabel { name: name.clone(), prio: 120 };
    let labels: Vec<TaskLabel> = work.tasks.iter().map(|task| label(&task.name)).collect();
    let mut writer = FtraceWriter::new(Vec::new(), 1, &labels);
    simulate::<Eevdf>(&machine, eevdf::Settings::default(), work, &mut writer, Options::default()).unwrap();
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    std::fs::write(&path, format!("{first}\n{header}{rest}")).unwrap();
    path
}

fn compared(work: &Work, arms: &[&str]) -> Runs {
    let standard = work.standard_policy().unwrap();
    let arms = arms.iter().map(|arm| Contender::arm(arm, &standard).unwrap_or_else(|why| panic!("{why}"))).collect();
    Plan { runs: 2, ..Plan::of(work, arms) }.run(&unwatched).unwrap_or_else(|why| panic!("{why}"))
}

/// The server's part of all CPU time, in percent.
fn share(arm: &Arm) -> f64 {
    let used = |name: &str| {
        let number = arm.first.tasks.iter().position(|task| task.name == name).expect("it ran");
        arm.first.measured.tasks[number].cpu_time.0 as f64
    };
    100.0 * used("server") / (used("server") + used("cruncher"))
}

/// A replay divides the CPU as the recorded cgroups do, without an arm that names one.
#[test]
fn the_recorded_weight_counts() {
    let folder = tempfile::tempdir().unwrap();
    let header = HEADER.replacen("\"weight\":100", "\"weight\":300", 1);
    let runs = compared(&opened(&recording(folder.path(), &header)), &["base"]);
    let found = share(&runs.arms[0]);
    assert!((found - 75.0).abs() < 3.0, "{found}");
}

/// A task that was moved to another cgroup is replayed in it from then on, and one in a session of its own has the
/// weight of a task.
#[test]
fn moves_and_sessions_count() {
    let folder = tempfile::tempdir().unwrap();
    let moved = HEADER.replace(
        "\"cgroup\":\"/system.slice/batch\"",
        "\"cgroup\":\"/\",\"changes\":[{\"at_ns\":0,\"cgroup\":\"/\"},\
         {\"at_ns\":1000000000,\"cgroup\":\"/system.slice/batch\"}]",
    );
    let moved = moved.replacen("\"weight\":100", "\"weight\":300", 1);
    let runs = compared(&opened(&recording(folder.path(), &moved)), &["base"]);
    // For a second the slice, of weight 100, competes with the task; then its groups share 3 to 1.
    let found = share(&runs.arms[0]);
    assert!((found - (50.0 + 75.0) / 2.0).abs() < 4.0, "{found}");
    let header = "# goodness: {\"recording\":{\"version\":1,\"kernel\":{\"release\":\"6.18.0\",\"hz\":1000},\
                  \"autogroup\":1,\"members\":[1,2]}}\n";
    let task = |pid, comm, nice| {
        format!(
            "# goodness: {{\"task\":{{\"pid\":{pid},\"tgid\":{pid},\"comm\":\"{comm}\",\"switches\":9,\
             \"cgroup\":\"/\",\"autogroup\":{pid},\"autogroup_nice\":{nice}}}}}\n"
        )
    };
    let sessions = format!("{header}{}{}", task(1, "server", 0), task(2, "cruncher", 5));
    let runs = compared(&opened(&recording(folder.path(), &sessions)), &["base"]);
    let found = share(&runs.arms[0]);
    assert!((found - 100.0 * 1024.0 / (1024.0 + 335.0)).abs() < 3.0, "{found}");
}

#[test]
fn an_arm_changes_the_weight_or_limit_of_a_recorded_cgroup_and_says_how_to_apply_it() {
    let folder = tempfile::tempdir().unwrap();
    let work = opened(&recording(folder.path(), HEADER));
    let runs = compared(&work, &["base", "web.cpu_weight=300", "batch.cpu_max=20ms/100ms"]);
    let shares: Vec<f64> = runs.arms.iter().map(share).collect();
    for (found, expected) in shares.iter().zip([50.0, 75.0, 80.0]) {
        assert!((found - expected).abs() < 3.0, "{shares:?}");
    }
    let again = |_: &goodness::Again| String::new();
    let about = Circumstances { input: Input::default(), details: Details::default(), commit: None, again: &again };
    let report = runs.report(about);
    let commands: Vec<_> = report.policies.iter().map(|it| it.application.as_ref()).collect();
    let [None, Some(weight), Some(limit)] = commands[..] else { panic!("{commands:?}") };
    assert_eq!(weight.apply, ["sudo systemctl set-property --runtime 'web.service' CPUWeight=300"]);
    assert_eq!(weight.undo, ["sudo systemctl set-property --runtime 'web.service' CPUWeight=100"]);
    assert_eq!(limit.apply, ["echo 20000 100000 | sudo tee '/sys/fs/cgroup/system.slice/batch/cpu.max'"]);
    assert_eq!(limit.undo, ["echo max | sudo tee '/sys/fs/cgroup/system.slice/batch/cpu.max'"]);
}

/// The control: a recording without cgroups has none to change.
#[test]
fn a_recording_without_cgroups_is_flat() {
    let folder = tempfile::tempdir().unwrap();
    let plain = opened(&recording(folder.path(), ""));
    let runs = compared(&plain, &["base"]);
    assert!(runs.arms.iter().all(|arm| arm.first.groups.is_flat()));
    let arm = Contender::arm("web.cpu_weight=300", &plain.standard_policy().unwrap()).unwrap();
    let refusal = Plan::of(&plain, vec![arm]).run(&unwatched).err().expect("a refusal").to_string();
    assert!(refusal.contains("the work has no groups"), "{refusal}");
}

/// A server whose tasks sleep and are not dequeued yet serves nobody, so reservations of later deadlines run.
#[test]
fn a_reservation_runs_where_the_fair_server_has_nothing_to_serve() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("work.toml");
    std::fs::write(
        &file,
        r#"
duration = "1s"
machine = { cpus = 1, hz = 7, lock_handover = "3us" }

[[task]]
name = "t0"
count = 4
class = "deadline"
reservation = { period = "50ms", runtime = "2ms" }
program = [ { compute = "5us" } ]

[[task]]
name = "t1"
count = 2
program = [ { compute = "10ms" }, { sleep = "75us" } ]
"#,
    )
    .unwrap();
    let work = opened(&file);
    for kernel in ["6.18", "7.2", "7.3"] {
        let contenders = vec![Contender::parse(&format!("eevdf:kernel={kernel}")).unwrap()];
        let plan = Plan { runs: 3, ..Plan::of(&work, contenders) };
        plan.run(&unwatched).unwrap_or_else(|why| panic!("{kernel}: {why}"));
    }
}

/// Limits that are refilled account for other tasks: the fair server may be done then, and the real-time task goes on.
#[test]
fn a_real_time_task_goes_on_when_the_fair_server_is_done_beside_limits() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("work.toml");
    std::fs::write(
        &file,
        r#"
duration = "4s"
machine = { cpus = 1, hz = 250 }
group = [ { name = "g1", cpu_max = "4ms/5ms" } ]
task = [
    { name = "a", group = "g1", program = [ { compute = "forever" } ] },
    { name = "f", class = "fifo", rt_priority = 68, program = [ { compute = "forever" } ] },
    { name = "s", program = [ { compute = "1ms" }, { sleep = "3ms" } ] },
]
"#,
    )
    .unwrap();
    let work = opened(&file);
    for (kernel, seed) in [("6.18", 1), ("6.18", 2), ("7.2", 2), ("7.3", 2), ("7.3", 3)] {
        let contenders = vec![Contender::parse(&format!("eevdf:kernel={kernel}")).unwrap()];
        let plan = Plan { runs: 1, seed, ..Plan::of(&work, contenders) };
        let runs = plan.run(&unwatched).unwrap_or_else(|why| panic!("{kernel}, seed {seed}: {why}"));
        let share = runs.arms[0].first.measured.tasks[1].cpu_time.0 as f64 / 4e9;
        assert!((0.94..0.96).contains(&share), "{kernel}, seed {seed}: {share}");
    }
}
