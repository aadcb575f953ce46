use goodness_study::smp::{self, suite::Suite};
fn main() {
    let a: Vec<String> = std::env::args().skip(1).collect();
    let suite = Suite::of(&a[0]).unwrap();
    let guest = *suite.guests.iter().find(|g| g.name() == a[2]).unwrap();
    let work = suite.open(&a[1]).unwrap();
    let s = smp::simulate(&suite, &*work.source, guest, guest.policy(), a[3].parse().unwrap()).unwrap();
    for (k, v) in s { println!("{k} {:.2}", v.iter().sum::<f64>() / v.len() as f64); }
}
