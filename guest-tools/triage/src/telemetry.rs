//! Thresholds of measurements. They are rules of thumb for a passenger car with a combustion engine.

use crate::exports::witbox::triage::triage::{Criticality, Reason, Telemetry};

/// What one measurement alone makes of the vehicle.
pub fn assess(flag: &Telemetry) -> Result<Reason, String> {
    use Criticality::*;
    let (subject, value, criticality, text) = match *flag {
        Telemetry::CoolantCelsius(value) => (
            "coolant-celsius",
            Some(value),
            above(value, &[(120.0, P0), (110.0, P1), (100.0, P2)]),
            "Coolant boils at some 120 °C under its pressure.",
        ),
        Telemetry::OilKilopascals(value) => (
            "oil-kilopascals",
            Some(value),
            below(value, &[(70.0, P0), (140.0, P1)]),
            "Below some 70 kPa bearings run dry.",
        ),
        Telemetry::BatteryVolts(value) => (
            "battery-volts",
            Some(value),
            below(value, &[(11.5, P1), (12.2, P2)]),
            "A lead battery below 11.5 V may not start the engine.",
        ),
        Telemetry::TyreKilopascals(value) => (
            "tyre-kilopascals",
            Some(value),
            below(value, &[(120.0, P0), (170.0, P1), (200.0, P2)]),
            "A tyre with half its pressure overheats.",
        ),
        Telemetry::BrakePadMillimetres(value) => (
            "brake-pad-millimetres",
            Some(value),
            below(value, &[(1.0, P0), (2.0, P1), (3.0, P2)]),
            "Pads are replaced at 3 mm; below 1 mm metal meets metal.",
        ),
        Telemetry::AirbagDeployed => (
            "airbag-deployed",
            None,
            P0,
            "A triggered airbag protects nobody again, and the crash may have damaged more.",
        ),
    };
    let measured = match value {
        Some(value) if !value.is_finite() => {
            return Err(format!("telemetry-flags: {subject} is not a number"));
        }
        Some(value) => format!(" Measured: {value}."),
        None => String::new(),
    };
    Ok(Reason { subject: subject.to_owned(), criticality, text: format!("{text}{measured}") })
}

fn above(value: f32, steps: &[(f32, Criticality)]) -> Criticality {
    let step = steps.iter().find(|(limit, _)| value >= *limit);
    step.map_or(Criticality::P3, |(_, criticality)| *criticality)
}

fn below(value: f32, steps: &[(f32, Criticality)]) -> Criticality {
    let step = steps.iter().find(|(limit, _)| value < *limit);
    step.map_or(Criticality::P3, |(_, criticality)| *criticality)
}
