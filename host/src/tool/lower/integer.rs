//! JSON number texts → integers, exactly and without ever expanding an exponent.

/// The longest number text that is read, in characters. The longest that anything needs is a finite `f64` written out
/// in full, which takes 1,077 characters (the smallest denormal).
pub(crate) const MAX_NUMBER_CHARS: usize = 1_100;

/// Why a number text is no integer of a range.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum NotAnInteger {
    Fractional,
    OutOfRange,
}

/// Reads a JSON number text as an integer: `3`, `3.0` and `30e-1` are all three, digit for digit.
///
/// `text` must be a JSON number of at most [`MAX_NUMBER_CHARS`].
pub(crate) fn integer(text: &str, (min, max): (i128, i128)) -> Result<i128, NotAnInteger> {
    let (negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, saturating_exponent(exponent)),
        None => (unsigned, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let significant = digits.trim_end_matches('0');
    if significant.is_empty() {
        return if min <= 0 { Ok(0) } else { Err(NotAnInteger::OutOfRange) };
    }

    // The value is `significant` times ten to the `power`.
    let dropped = digits.len() - significant.len();
    let power = exponent + dropped as i64 - fraction.len() as i64;
    if power < 0 {
        return Err(NotAnInteger::Fractional);
    }
    let significant = significant.trim_start_matches('0');
    // Ten to the 20th is beyond every 64-bit integer, and 38 digits fit an i128.
    if significant.len() as i64 + power > 20 {
        return Err(NotAnInteger::OutOfRange);
    }
    let power = u32::try_from(power).map_err(|_| NotAnInteger::OutOfRange)?;
    let magnitude = significant.parse::<i128>().map_err(|_| NotAnInteger::OutOfRange)? * 10i128.pow(power);
    let value = if negative { -magnitude } else { magnitude };
    if value < min || value > max {
        return Err(NotAnInteger::OutOfRange);
    }
    Ok(value)
}

/// An exponent's value, cut to what is certainly far too large or small; mantissas have at most 1,100 digits.
fn saturating_exponent(text: &str) -> i64 {
    const FAR: i64 = 1_000_000;
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let magnitude = digits.trim_start_matches('0');
    let value = match magnitude {
        "" => 0,
        digits if digits.len() > 6 => FAR,
        digits => digits.parse().unwrap_or(FAR),
    };
    if negative { -value } else { value }
}

#[cfg(test)]
mod tests {
    use super::{NotAnInteger, integer};

    const U64: (i128, i128) = (0, u64::MAX as i128);
    const S64: (i128, i128) = (i64::MIN as i128, i64::MAX as i128);

    #[test]
    fn reads_what_is_mathematically_an_integer() {
        for (text, value) in [
            ("0", 0),
            ("-0", 0),
            ("0e999999999999", 0),
            ("0.000", 0),
            ("3.0", 3),
            ("30e-1", 3),
            ("0.3e1", 3),
            ("1E3", 1_000),
            ("1e+03", 1_000),
            ("9007199254740993.0", 9_007_199_254_740_993),
            ("18446744073709551615", u64::MAX.into()),
            ("18446744073709551615.000", u64::MAX.into()),
        ] {
            assert_eq!(integer(text, U64), Ok(value), "{text}");
        }
        assert_eq!(integer("-9223372036854775808", S64), Ok(i64::MIN.into()));
    }

    #[test]
    fn refuses_what_is_none_or_too_large() {
        for text in ["0.5", "1e-1", "1e-999999999999", "9007199254740992.5"] {
            assert_eq!(integer(text, U64), Err(NotAnInteger::Fractional), "{text}");
        }
        let long = format!("1{}", "0".repeat(1_000));
        for text in ["-1", "18446744073709551616", "1e1000000000", "1e20", long.as_str()] {
            assert_eq!(integer(text, U64), Err(NotAnInteger::OutOfRange), "{text}");
        }
    }
}
