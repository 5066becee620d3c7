//! Text to numbers: the integers of the generic path, and eight digits at a time for plain rows.

/// Why some text is no integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NotInt {
    /// It is no number.
    Text,
    /// It is one beyond 64 bits.
    Range,
}

/// An integer: an optional sign and decimal digits, nothing else. The same set that `str::parse::<i64>` takes.
pub(crate) fn parse_int(text: &[u8]) -> Result<i64, NotInt> {
    const SURELY_FITS_DIGITS: usize = 18;
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() {
        return Err(NotInt::Text);
    }
    if digits.len() > SURELY_FITS_DIGITS {
        return parse_long_int(negative, digits);
    }
    let mut number = 0i64;
    for byte in digits {
        let digit = byte.wrapping_sub(b'0');
        if digit > 9 {
            return Err(NotInt::Text);
        }
        number = number * 10 + i64::from(digit);
    }
    Ok(if negative { -number } else { number })
}

fn parse_long_int(negative: bool, digits: &[u8]) -> Result<i64, NotInt> {
    if !digits.iter().all(u8::is_ascii_digit) {
        return Err(NotInt::Text);
    }
    let mut number = 0i64;
    for byte in digits {
        let digit = i64::from(byte - b'0');
        let next = number
            .checked_mul(10)
            .and_then(|tens| if negative { tens.checked_sub(digit) } else { tens.checked_add(digit) });
        number = next.ok_or(NotInt::Range)?;
    }
    Ok(number)
}

/// A double, as `str::parse::<f64>` takes it: also `inf`, `nan`, `1e9`, `.5`.
pub(crate) fn parse_float(text: &[u8]) -> Option<f64> {
    short_decimal(text).or_else(|| std::str::from_utf8(text).ok()?.parse().ok())
}

/// Whether some text is an integer that is no double: the nearest one is another number.
pub(crate) fn is_inexact(text: &[u8]) -> bool {
    const SURELY_EXACT_DIGITS: usize = 15;
    if text.len() <= SURELY_EXACT_DIGITS {
        return false;
    }
    let digits = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    if !digits.iter().all(u8::is_ascii_digit) {
        return false;
    }
    let leading_zeros = digits.iter().take_while(|digit| **digit == b'0').count();
    let digits = &digits[leading_zeros..];
    // With no decimals a double is written in full, however large it is.
    digits.len() > SURELY_EXACT_DIGITS
        && parse_float(digits).is_none_or(|number| format!("{number:.0}").as_bytes() != digits)
}

/// A decimal of at most 15 digits and without exponent. Its digits as an integer and the power of ten to divide by are both
/// exact doubles, so that the quotient is the double nearest to the decimal (Clinger, 1990).
fn short_decimal(text: &[u8]) -> Option<f64> {
    const POWERS_OF_TEN: [f64; 16] =
        [1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15];
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if !(2..=16).contains(&digits.len()) {
        return None;
    }
    let (mut number, mut point) = (0u64, None);
    for (position, byte) in digits.iter().enumerate() {
        match byte {
            b'0'..=b'9' => number = number * 10 + u64::from(byte - b'0'),
            b'.' if point.is_none() => point = Some(position),
            _ => return None,
        }
    }
    let decimals = digits.len() - 1 - point?;
    let value = number as f64 / POWERS_OF_TEN.get(decimals)?;
    Some(if negative { -value } else { value })
}

/// `true` or `false` in any case.
pub(crate) fn parse_bool(text: &[u8]) -> Option<bool> {
    if text.eq_ignore_ascii_case(b"true") {
        Some(true)
    } else if text.eq_ignore_ascii_case(b"false") {
        Some(false)
    } else {
        None
    }
}

/// The unsigned number that starts at `at` and the byte after it, if it has 1 to 18 digits and at least eight
/// bytes are there to look at. `None` says nothing about the text; the generic path then looks at it.
///
/// The digits of eight bytes are found and weighed at once: subtracting `'0'` leaves 0 to 9 in a byte that is a digit; the
/// first byte with something else gives the count; shifting it out on top leaves leading zeros; three multiplications
/// then add up pairs, fours and eights of digits.
#[inline(always)]
pub(crate) fn plain_digits(data: &[u8], at: usize) -> Option<(u64, usize)> {
    let (number, digits) = up_to_eight_digits(data, at)?;
    match digits {
        0 => None,
        8 => more_digits(data, at + 8, number),
        digits => Some((number, at + digits)),
    }
}

/// Goes on after eight digits.
#[inline(never)]
fn more_digits(data: &[u8], at: usize, high: u64) -> Option<(u64, usize)> {
    let (low, digits) = up_to_eight_digits(data, at)?;
    let mut number = high * 10u64.pow(digits as u32) + low;
    let mut next = at + digits;
    if digits == 8 {
        for _ in 0..3 {
            match data.get(next) {
                Some(byte) if byte.is_ascii_digit() => number = number * 10 + u64::from(byte - b'0'),
                _ => return Some((number, next)),
            }
            next += 1;
        }
        return None;
    }
    Some((number, next))
}

#[inline(always)]
fn up_to_eight_digits(data: &[u8], at: usize) -> Option<(u64, usize)> {
    let bytes = data.get(at..at + 8)?.first_chunk::<8>()?;
    let values = u64::from_le_bytes(*bytes) ^ 0x3030_3030_3030_3030;
    // The high bit of a byte is set where its value is over 9. A carry can only spoil bytes after the first such one.
    let others = (values.wrapping_add(0x7676_7676_7676_7676) | values) & 0x8080_8080_8080_8080;
    let digits = others.trailing_zeros() as usize / 8;
    if digits == 0 {
        return Some((0, 0));
    }
    let aligned = values << (64 - 8 * digits);
    let pairs = (aligned & 0x0f0f_0f0f_0f0f_0f0f).wrapping_mul(2561) >> 8;
    let fours = (pairs & 0x00ff_00ff_00ff_00ff).wrapping_mul(6_553_601) >> 16;
    let eights = (fours & 0x0000_ffff_0000_ffff).wrapping_mul(42_949_672_960_001) >> 32;
    Some((eights, digits))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn integers_are_those_of_the_standard_library(text in "[-+]?[0-9]{0,21}[ a]?") {
            prop_assert_eq!(parse_int(text.as_bytes()).ok(), text.parse::<i64>().ok());
        }

        #[test]
        fn doubles_are_those_of_the_standard_library(text in "[-+]?[0-9]{0,17}(\\.[0-9]{0,17})?(e-?[0-9]{1,3})?") {
            let bits = |number: Option<f64>| number.map(f64::to_bits);
            prop_assert_eq!(bits(parse_float(text.as_bytes())), bits(text.parse().ok()));
        }

        #[test]
        fn plain_digits_agree_with_the_generic_path(
            before in "[ -~]{0,3}", digits in "[0-9]{1,21}", after in "[^0-9]\\PC{8,12}",
        ) {
            let text = format!("{before}{digits}{after}");
            if let Some((number, next)) = plain_digits(text.as_bytes(), before.len()) {
                prop_assert_eq!(Ok(number), digits.parse::<u64>());
                prop_assert_eq!(next, before.len() + digits.len());
            } else {
                prop_assert!(digits.len() > 18);
            }
        }

        #[test]
        fn plain_digits_takes_any_bytes(bytes in proptest::collection::vec(any::<u8>(), 0..40), at in 0usize..50) {
            if let Some((number, next)) = plain_digits(&bytes, at) {
                let text = std::str::from_utf8(&bytes[at..next]).unwrap();
                prop_assert_eq!(Ok(number), text.parse::<u64>());
                prop_assert!(!bytes.get(next).is_some_and(u8::is_ascii_digit));
            }
        }
    }

    #[test]
    fn integers_that_are_no_doubles() {
        for text in ["9007199254740993", "-9007199254740993", "+00009007199254740993", "99999999999999999999"]
        {
            assert!(is_inexact(text.as_bytes()), "{text}");
        }
        let (large, small) = ("1".to_owned() + &"0".repeat(400), "0".repeat(400) + "7");
        assert!(is_inexact(large.as_bytes()) && !is_inexact(small.as_bytes()));
        for text in
            ["9007199254740992", "-9223372036854775808", "18446744073709551616", "1e300", "0.1", "nan"]
        {
            assert!(!is_inexact(text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn the_ends_of_the_range() {
        assert_eq!(parse_int(b"9223372036854775807"), Ok(i64::MAX));
        assert_eq!(parse_int(b"-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(parse_int(b"9223372036854775808"), Err(NotInt::Range));
        assert_eq!(parse_int(b"-9223372036854775809"), Err(NotInt::Range));
        assert_eq!(parse_int(b"99999999999999999999999x"), Err(NotInt::Text));
        assert_eq!(parse_int(b"-"), Err(NotInt::Text));
    }
}
