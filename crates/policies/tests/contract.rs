//! Contract of every registered policy, on random machines and work with 1, 2, 8 and 64 CPUs.

use goodness_contract::Contract;

fn hold(cpus: u32, draws: u64, is_unequal: bool) {
    for about in goodness_policies::ALL {
        let policy = goodness_policies::entry(about.name).expect("a listed policy is found");
        for seed in 0..draws {
            let contract = Contract { cpus, seed, is_unequal };
            let held =
                contract.hold(&|machine, seed| (policy.make)(machine, &[], seed).expect("the defaults are settings"));
            held.unwrap_or_else(|broken| panic!("{} {broken}", about.name));
        }
    }
}

#[test]
fn every_policy_keeps_the_contract_on_one_cpu() {
    hold(1, 60, false);
}

#[test]
fn every_policy_keeps_the_contract_on_two_cpus() {
    hold(2, 60, false);
}

#[test]
fn every_policy_keeps_the_contract_on_eight_cpus() {
    hold(8, 25, false);
}

#[test]
fn every_policy_keeps_the_contract_on_64_cpus() {
    hold(64, 6, false);
}

#[test]
fn every_policy_keeps_the_contract_on_cpus_of_unequal_capacity() {
    hold(6, 25, true);
}
