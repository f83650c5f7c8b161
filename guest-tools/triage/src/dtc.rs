//! Diagnostic trouble codes: their form and groups are those of SAE J2012 (ISO 15031-6).

use crate::exports::witbox::triage::triage::{Criticality, Reason};

/// Rules from the most to the least specific prefix of a code; the first that fits decides.
const RULES: [(&str, Criticality, &str); 24] = [
    ("P0217", Criticality::P0, "The engine is overheating."),
    ("P0524", Criticality::P0, "The engine's oil pressure is too low."),
    ("P0606", Criticality::P1, "The engine's control module reports a fault of its processor."),
    ("P0420", Criticality::P2, "The catalyst works below its threshold; the car runs, its exhaust is dirty."),
    ("P0430", Criticality::P2, "The catalyst works below its threshold; the car runs, its exhaust is dirty."),
    ("P0455", Criticality::P3, "The fuel vapour system has a large leak, often an open cap."),
    ("P030", Criticality::P1, "A misfire; unburnt fuel destroys the catalyst within a few drives."),
    ("P00", Criticality::P2, "Fuel and air metering, auxiliary emission controls."),
    ("P01", Criticality::P2, "Fuel and air metering."),
    ("P02", Criticality::P1, "Fuel and air metering, the injectors' circuits."),
    ("P03", Criticality::P1, "Ignition or misfire."),
    ("P04", Criticality::P3, "Auxiliary emission controls."),
    ("P05", Criticality::P2, "Speed and idle control, auxiliary inputs."),
    ("P06", Criticality::P2, "The computer and its outputs."),
    ("P07", Criticality::P1, "The transmission."),
    ("P08", Criticality::P1, "The transmission."),
    ("P09", Criticality::P1, "The transmission."),
    ("P0A", Criticality::P1, "Hybrid propulsion."),
    ("C0", Criticality::P1, "The chassis: brakes, steering or stability control."),
    ("B00", Criticality::P1, "The body: restraints, such as airbags and belts."),
    ("B0", Criticality::P3, "The body."),
    ("U0", Criticality::P2, "The network between the control modules."),
    ("P", Criticality::P2, "The powertrain, by the maker's own definition."),
    ("", Criticality::P3, "By the maker's own definition."),
];

/// What one code alone makes of the vehicle.
pub fn assess(code: &str) -> Result<Reason, String> {
    let code = code.trim().to_ascii_uppercase();
    if !is_code(&code) {
        return Err(format!(
            "dtc-codes: {code:?} is no trouble code: expected a letter of P, C, B or U, a digit 0 to 3 and three hexadecimal digits"
        ));
    }
    let rule = RULES.iter().find(|(prefix, ..)| code.starts_with(prefix));
    let (_, criticality, text) = rule.unwrap_or(&RULES[RULES.len() - 1]);
    Ok(Reason { subject: code, criticality: *criticality, text: (*text).to_owned() })
}

fn is_code(code: &str) -> bool {
    let bytes = code.as_bytes();
    matches!(bytes, [b'P' | b'C' | b'B' | b'U', b'0'..=b'3', rest @ ..]
        if rest.len() == 3 && rest.iter().all(u8::is_ascii_hexdigit))
}
