//! Texts with a unit → numbers: `256MiB`, `10G`, `30s`.

use std::time::Duration;

use crate::error::Error;

/// A text that is no quantity.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum UnitError {
    #[error("`{text}` is no {what}: expected a whole number, of 64 bits at most, and one of {units}")]
    Unreadable { text: String, what: &'static str, units: &'static str },
    #[error("`{text}` is no time at all")]
    Zero { text: String },
}

/// Reads a number of bytes: `512`, `64KiB`, `256MiB`, `4GiB`, or `KB`, `MB` and `GB` for powers of a thousand.
///
/// # Errors
/// When the text is something else, or passes 64 bits.
///
/// ```
/// assert_eq!(witbox::parse_bytes("64KiB")?, 65_536);
/// # Ok::<(), witbox::Error>(())
/// ```
pub fn parse_bytes(text: &str) -> Result<u64, Error> {
    const UNITS: [(&str, u64); 8] = [
        ("KiB", 1 << 10),
        ("MiB", 1 << 20),
        ("GiB", 1 << 30),
        ("KB", 1_000),
        ("MB", 1_000_000),
        ("GB", 1_000_000_000),
        ("B", 1),
        ("", 1),
    ];
    Ok(quantity(text, "number of bytes", "B, KiB, MiB, GiB, KB, MB, GB", &UNITS)?)
}

/// Reads an amount of fuel: `500000`, `200M`, `10G`.
///
/// # Errors
/// When the text is something else, or passes 64 bits.
pub fn parse_fuel(text: &str) -> Result<u64, Error> {
    const UNITS: [(&str, u64); 4] = [("K", 1_000), ("M", 1_000_000), ("G", 1_000_000_000), ("", 1)];
    Ok(quantity(text, "amount of fuel", "K, M, G", &UNITS)?)
}

/// Reads a time span: `100ms`, `30s`, `5m`, `1h`.
///
/// # Errors
/// When the text is something else, passes 64 bits of milliseconds, or is zero.
pub fn parse_duration(text: &str) -> Result<Duration, Error> {
    const UNITS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];
    let millis = quantity(text, "time span", "ms, s, m, h, d", &UNITS)?;
    if millis == 0 {
        return Err(UnitError::Zero { text: text.to_owned() }.into());
    }
    Ok(Duration::from_millis(millis))
}

fn quantity(text: &str, what: &'static str, units: &'static str, known: &[(&str, u64)]) -> Result<u64, UnitError> {
    let refuse = || UnitError::Unreadable { text: text.to_owned(), what, units };
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    let (_, factor) = known.iter().find(|(name, _)| *name == unit.trim_start()).ok_or_else(refuse)?;
    let number: u64 = number.parse().map_err(|_| refuse())?;
    number.checked_mul(*factor).ok_or_else(refuse)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities_have_units() {
        assert_eq!(parse_bytes("256MiB").unwrap(), 256 << 20);
        assert_eq!(parse_bytes("10 MB").unwrap(), 10_000_000);
        assert_eq!(parse_bytes("7").unwrap(), 7);
        assert_eq!(parse_fuel("10G").unwrap(), 10_000_000_000);
        assert_eq!(parse_duration("5m").unwrap(), Duration::from_secs(300));
        for bad in ["", "MiB", "1.5GiB", "-1", "1 mib", "99999999999GiB", "1e3"] {
            assert!(parse_bytes(bad).is_err(), "{bad}");
        }
        assert!(parse_duration("30").is_err(), "a time span without a unit says nothing");
    }
}
