//! JSON numbers as integers, exactly.
//!
//! A number is judged by its digits and never passes through a float: 9007199254740993.0 is that integer and not
//! its neighbour, and 1e400 is too large rather than infinite.

/// What a JSON number is among the integers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whole {
    /// This integer, however it was spelled: 5, 5.0, 5e0, 50e-1.
    Integer(i64),
    /// No integer.
    Fraction,
    /// An integer beyond 64 bits.
    Beyond,
}

/// The digits of the largest int64.
const MAX_DIGITS: i64 = 19;

/// Judges the text of a valid JSON number.
pub(super) fn whole(text: &str) -> Whole {
    let (is_negative, unsigned) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    };
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (before_point, after_point) = mantissa.split_once('.').unwrap_or((mantissa, ""));

    // The value is `digits` times ten to the power of `scale`, and the last digit is not 0.
    let all_digits = format!("{before_point}{after_point}");
    let digits = all_digits.trim_end_matches('0');
    let scale = saturating_exponent(exponent)
        .saturating_sub(count(after_point.len()))
        .saturating_add(count(all_digits.len() - digits.len()));
    let digits = digits.trim_start_matches('0');

    if digits.is_empty() {
        return Whole::Integer(0);
    }
    if scale < 0 {
        return Whole::Fraction;
    }
    if count(digits.len()).saturating_add(scale) > MAX_DIGITS {
        return Whole::Beyond;
    }
    let magnitude =
        (0..scale).try_fold(digits.parse::<i128>().ok(), |value, _| value.map(|value| value.checked_mul(10)));
    match magnitude.flatten().map(|value| if is_negative { -value } else { value }).map(i64::try_from) {
        Some(Ok(value)) => Whole::Integer(value),
        Some(Err(_)) | None => Whole::Beyond,
    }
}

/// An exponent that does not fit is as good as endless.
fn saturating_exponent(text: &str) -> i64 {
    text.parse().unwrap_or(if text.starts_with('-') { i64::MIN } else { i64::MAX })
}

fn count(length: usize) -> i64 {
    i64::try_from(length).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_are_judged_by_their_value() {
        let cases = [
            ("0", Whole::Integer(0)),
            ("-0", Whole::Integer(0)),
            ("0.000", Whole::Integer(0)),
            ("0e999999999999999999999", Whole::Integer(0)),
            ("5", Whole::Integer(5)),
            ("5.0", Whole::Integer(5)),
            ("5e0", Whole::Integer(5)),
            ("5E+0", Whole::Integer(5)),
            ("50e-1", Whole::Integer(5)),
            ("0.05e2", Whole::Integer(5)),
            ("1e18", Whole::Integer(1_000_000_000_000_000_000)),
            ("-3.0", Whole::Integer(-3)),
            ("9007199254740993.0", Whole::Integer(9_007_199_254_740_993)),
            ("9223372036854775807", Whole::Integer(i64::MAX)),
            ("9223372036854775807.0", Whole::Integer(i64::MAX)),
            ("-9223372036854775808", Whole::Integer(i64::MIN)),
            ("9223372036854775808", Whole::Beyond),
            ("-9223372036854775809", Whole::Beyond),
            ("18446744073709551616", Whole::Beyond),
            ("1e19", Whole::Beyond),
            ("1e400", Whole::Beyond),
            ("-1e400", Whole::Beyond),
            ("1e99999999999999999999", Whole::Beyond),
            ("5.5", Whole::Fraction),
            ("5e-1", Whole::Fraction),
            ("1e-99999999999999999999", Whole::Fraction),
            ("9007199254740993.00000000000000000001", Whole::Fraction),
        ];
        for (text, expected) in cases {
            assert_eq!(whole(text), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn every_spelling_of_an_integer_is_that_integer(value: i64, zeros in 0..40_usize) {
            let zeros_text = "0".repeat(zeros);
            for text in [
                format!("{value}"),
                format!("{value}.0{zeros_text}"),
                format!("{value}e0{zeros_text}"),
                format!("{value}{zeros_text}e-{zeros}"),
            ] {
                prop_assert_eq!(whole(&text), Whole::Integer(value), "{}", text);
            }
        }

        #[test]
        fn what_a_float_calls_fractional_is_no_integer(value in -1e6..1e6_f64) {
            let text = format!("{value}");
            prop_assert_eq!(whole(&text) == Whole::Fraction, value.fract() != 0.0, "{}", text);
        }
    }
}
