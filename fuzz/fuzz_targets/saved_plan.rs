//! A saved plan is read or refused; what is read is written and read again unchanged.
#![no_main]

use flux_operator::reconcile::SavedPlan;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let Ok(saved) = serde_json::from_str::<SavedPlan>(text) else { return };
    let written = serde_json::to_string(&saved).expect("a plan can be written");
    let again: SavedPlan = serde_json::from_str(&written).expect("what was written");
    assert_eq!(again.plan, saved.plan);
    let _ = (saved.plan.has_changes(), saved.plan.downgrade(), saved.plan.lost_custom_resources().count());
});
