//! Custom studies: measurements and error messages.

use goodness_study::{CustomStudy, Lab, Row, Study, Verdict, untold};

const HEAD: &str = r#"question = "Who waits?"
source = "a test"

[input.hogs]
run = "hogs:tasks=3,duration=3s"

"#;

fn number(key: &str, rest: &str) -> String {
    format!("[[number]]\nkey = \"{key}\"\nquantity = \"{key}\"\nwhere = \"nowhere\"\n{rest}\n\n")
}

fn conduct(text: &str) -> Result<Vec<Row>, String> {
    conduct_in("mine.toml", text)
}

/// The rows of the study `text`, which is in this file.
fn conduct_in(file: &str, text: &str) -> Result<Vec<Row>, String> {
    let custom = CustomStudy::read(file, text)?;
    let conduct = |lab: &Lab| custom.conduct(lab);
    let study = Study {
        name: "mine",
        question: &custom.question,
        source: &custom.source,
        published: text,
        parameters: &[],
        corners: &[],
        runs: custom.runs,
        conduct: &conduct,
    };
    let lab = Lab::new(&study, &custom.published, 1, &untold);
    Ok((study.conduct)(&lab)?.rows)
}

#[test]
fn a_value_is_in_its_unit_a_quotient_pairs_seeds_and_an_order_is_as_strong_as_its_weakest_step() {
    let slice = |ms: u32| format!("policy = \"rr:timeslice={ms}ms\", metric = \"slice_length_p50\"");
    let order = |list: &str| {
        let says = format!("measure = {{ order = [{list}], metric = \"slice_length_p50\" }}");
        number(list.len().to_string().as_str(), &says)
    };
    let (five, ten, twenty) = ("\"rr:timeslice=5ms\"", "\"rr:timeslice=10ms\"", "\"rr:timeslice=20ms\"");
    let text = [
        HEAD.to_string(),
        number(
            "value",
            &format!("unit = \"ms\"\nvalue = 10\ntolerance = {{ relative = 0.02 }}\nmeasure = {{ {} }}", slice(10)),
        ),
        number(
            "by",
            &format!(
                "value = 2\ntolerance = {{ relative = 0.02 }}\nmeasure = {{ {}, by = {{ policy = {five} }} }}",
                slice(10)
            ),
        ),
        order(&[five, ten, twenty].join(",")),
        order(&[five, twenty, ten, twenty].join(",")),
    ]
    .concat();
    let rows = conduct(&text).unwrap();
    let verdicts: Vec<Verdict> = rows.iter().map(|row| row.verdict).collect();
    let expected = [Verdict::Reproduced, Verdict::Reproduced, Verdict::Reproduced, Verdict::NotReproduced];
    assert_eq!(verdicts, expected, "{rows:#?}");
    assert!((rows[3].simulated.unwrap() - 0.5).abs() < 0.02, "the step from 20 to 10 ms is the weakest");
}

#[test]
fn a_mistake_is_named_with_file_and_line() {
    let measure = |inside: &str| HEAD.to_string() + &number("k", &format!("value = 1.0\nmeasure = {{ {inside} }}"));
    let good = "policy = \"fifo\", metric = \"turnaround\"";
    let unit = measure(good).replace("value = 1.0", "unit = \"MB\"\nvalue = 1.0");
    for (text, expected) in [
        (measure("policy = \"ffio\", metric = \"turnaround\""), "line 7: k: there is no policy \"ffio\""),
        (measure("policy = \"fifo\", metric = \"turnaraund\""), "nearest is \"turnaround\""),
        (measure("metric = \"turnaround\""), "line 7: k: measure needs either policy or order"),
        (measure("order = [\"fifo\"], metric = \"turnaround\""), "an order has two policies"),
        (measure(&format!("input = \"hog\", {good}")), "there is no [input.hog]; the nearest is \"hogs\""),
        (measure(&format!("{good}, by = {{ policy = \"fifo\" }}")), "divided by itself"),
        (measure(&format!("{good}, polcy = 1")), "line 12"),
        (unit, "the unit \"MB\" does not fit turnaround; write \"ns\", \"us\", \"ms\" or \"s\""),
        (measure(good).replace("value = 1.0\n", ""), "it states nothing"),
        (measure(good).replace("hogs:tasks=3", "hogs:task=3"), "line 4: input hogs: workload hogs:"),
        (HEAD.replace("source", "runs = 1\nsource") + &number("k", "value = 1.0"), "line 2: runs: a whole number in 2"),
        (HEAD.to_string() + &number("k", "value = 1.0"), "line 7: k: it needs measure"),
        (measure(good) + &number("k", "value = 2.0"), "line 14: the key k stands there twice"),
        ("question = ".to_string(), "line 1: "),
    ] {
        let sentence = conduct(&text).err().unwrap_or_else(|| panic!("accepted:\n{text}"));
        assert!(sentence.starts_with("mine.toml, line ") && sentence.contains(expected), "{expected}: {sentence}");
    }
}

#[test]
fn a_metric_that_a_run_does_not_give_is_named_with_its_place() {
    let text = HEAD.to_string()
        + &number("k", "unit = \"ms\"\nvalue = 1.0\nmeasure = { policy = \"fifo\", metric = \"request_latency_max\" }");
    let sentence = conduct(&text).unwrap_err();
    assert_eq!(sentence, "mine.toml, line 7: k: no run under fifo on hogs gives request_latency_max");
}

/// docs/studies/cpu-limits.md: what fluids tell of CPU limits, but for what they leave out. Exactly the two misses of
/// that page: a wrong formula, or a wrong rule of the simulator, would make it three.
#[test]
fn the_latencies_of_limited_containers_follow_from_the_rules_of_cpu_max() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/08-cpu-limits/published.toml");
    let rows = conduct_in(file, &std::fs::read_to_string(file).expect("the example is there")).unwrap();
    let missed: Vec<&str> =
        rows.iter().filter(|it| it.verdict != Verdict::Reproduced).map(|it| it.quantity.as_str()).collect();
    let [sparse, threads] = [
        "mean latency, a request of 30 ms now and then, 20 of 100 ms",
        "p99 latency, 8 threads of 30 ms at once, 80 of 100 ms",
    ];
    assert_eq!((rows.len(), missed), (18, vec![sparse, threads]));
    let mean = rows.iter().find(|it| it.quantity == sparse).and_then(|it| it.simulated).expect("simulated");
    assert!((mean - 66.0).abs() < 1.5, "with the cap of the pool: {mean}");
}
