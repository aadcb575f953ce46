//! The reasons of every registered policy agree with what it decides, on random machines and work.

use goodness_contract::Contract;

#[test]
fn every_policy_tells_its_rules_and_they_agree_with_what_it_does() {
    let mut wrong = Vec::new();
    for about in goodness_policies::ALL {
        let policy = goodness_policies::entry(about.name).expect("a listed policy is found");
        let mut answers = 0;
        for (cpus, seed) in (0..6).map(|seed| (1, seed)).chain((0..4).map(|seed| (2, seed))) {
            let contract = Contract { cpus, seed, is_unequal: false };
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
