//! The reasons of every registered policy agree with what it decides, on random machines and work.

use goodness_contract::Contract;

#[test]
fn every_policy_tells_its_rules_and_they_agree_with_what_it_does() {
    let mut wrong = Vec::new();
    for about in goodness_policies::ALL {
        let policy = goodness_policies::entry(about.name).expect("a listed policy is found");
        let mut answers = 0;
        let draws = [(1, 20), (2, 60), (3, 60), (8, 20)];
        for (cpus, seed) in draws.iter().flat_map(|(cpus, count)| (0..*count).map(|seed| (*cpus, seed))) {
            let contract = Contract { cpus, seed, is_unequal: cpus == 3 };
            let checked = contract
                .reasons(&|machine, seed| (policy.make)(machine, &[], seed).expect("the defaults are settings"));
            match checked {
                Ok(told) => answers += told.rules,
                Err(broken) => wrong.push(format!("{} {broken}", about.name)),
            }
        }
        if answers == 0 {
            wrong.push(format!("{} tells no rule", about.name));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
