//! Every rule does what it promises on its own examples.

use skillwire_scan::RuleSet;

#[test]
fn every_example_of_every_rule_holds() {
    let broken = RuleSet::built_in().check_examples();
    let listed: Vec<_> =
        broken.iter().map(|it| format!("{} {:?}: {}", it.rule, it.kind, it.text)).collect();
    assert!(broken.is_empty(), "{}", listed.join("\n"));
}
