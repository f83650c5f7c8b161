//! Vehicle triage as a tool: the same answer for the same question, computed without any import.

mod dtc;
mod telemetry;

wit_bindgen::generate!({ world: "triage-tool", path: "wit" });

use exports::witbox::triage::triage::{Assessment, Criticality, Guest, PolicyOverride, Reason, Telemetry};

struct Triage;

export!(Triage);

impl Guest for Triage {
    fn classify(
        dtc_codes: Vec<String>,
        telemetry_flags: Vec<Telemetry>,
        recall_ids: Vec<String>,
        policy_overrides: Option<Vec<PolicyOverride>>,
    ) -> Result<Assessment, String> {
        let overrides = policy_overrides.unwrap_or_default();
        let mut reasons = Vec::new();
        for code in &dtc_codes {
            reasons.push(dtc::assess(code)?);
        }
        for flag in &telemetry_flags {
            reasons.push(telemetry::assess(flag)?);
        }
        for recall in &recall_ids {
            reasons.push(open_recall(recall)?);
        }
        for reason in &mut reasons {
            apply(&overrides, reason);
        }
        reasons.sort_by_key(|reason| rank(reason.criticality));
        let criticality = reasons.first().map_or(Criticality::P3, |reason| reason.criticality);
        Ok(Assessment { criticality, reasons })
    }
}

fn open_recall(id: &str) -> Result<Reason, String> {
    if id.trim().is_empty() {
        return Err("recall-ids: a recall without an id".to_owned());
    }
    Ok(Reason {
        subject: id.to_owned(),
        criticality: Criticality::P1,
        text: "An open recall is a known defect that the maker repairs.".to_owned(),
    })
}

/// The last override of a subject takes the place of the built-in rule.
fn apply(overrides: &[PolicyOverride], reason: &mut Reason) {
    let rule = overrides.iter().rev().find(|rule| rule.subject.eq_ignore_ascii_case(&reason.subject));
    if let Some(rule) = rule {
        reason.criticality = rule.criticality;
        reason.text = format!("{} The fleet's own rule decides.", reason.text);
    }
}

/// Gravest first.
fn rank(criticality: Criticality) -> u8 {
    match criticality {
        Criticality::P0 => 0,
        Criticality::P1 => 1,
        Criticality::P2 => 2,
        Criticality::P3 => 3,
    }
}
