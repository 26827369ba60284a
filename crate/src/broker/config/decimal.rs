//! Decimal numbers as texts: compared and printed as Java does, without a float.

use std::cmp::Ordering;

/// `0.DIGITS × 10^exponent`; no digits for zero, neither zeros in front nor behind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Decimal {
    negative: bool,
    digits: Vec<u8>,
    exponent: i64,
}

impl Decimal {
    /// What `Double.parseDouble` reads, but hexadecimal.
    pub fn parse(text: &str) -> Option<Decimal> {
        let text = text.strip_suffix(['f', 'F', 'd', 'D']).unwrap_or(text);
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let (mantissa, power) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let power: i64 = i64::from(power.parse::<i32>().ok()?);
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(fraction.bytes()).collect();
        if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
            return None;
        }
        let zeros = digits.iter().take_while(|digit| **digit == b'0').count();
        let mut digits = digits.get(zeros..).unwrap_or_default().to_vec();
        while digits.last() == Some(&b'0') {
            digits.pop();
        }
        let exponent = if digits.is_empty() { 0 } else { whole.len() as i64 - zeros as i64 + power };
        Some(Decimal { negative: negative && !digits.is_empty(), digits, exponent })
    }

    pub fn compare(&self, other: &Decimal) -> Ordering {
        let sign = |number: &Decimal| match (number.digits.is_empty(), number.negative) {
            (true, _) => 0,
            (false, negative) => 1 - 2 * i8::from(negative),
        };
        let by_size = self.exponent.cmp(&other.exponent).then_with(|| self.digits.cmp(&other.digits));
        sign(self).cmp(&sign(other)).then(if self.negative { by_size.reverse() } else { by_size })
    }

    /// `Double.toString`: with a point always, and with an exponent below 0.001 and from ten million.
    pub fn to_java(&self) -> String {
        let digits = String::from_utf8_lossy(&self.digits);
        let split = |at: usize| {
            let (whole, fraction) = digits.split_at(at.min(digits.len()));
            format!(
                "{}.{}",
                if whole.is_empty() { "0" } else { whole },
                if fraction.is_empty() { "0" } else { fraction }
            )
        };
        let sign = if self.negative { "-" } else { "" };
        match self.exponent {
            exponent @ 1..=7 => {
                let missing = (exponent as usize).saturating_sub(digits.len());
                match missing {
                    0 => format!("{sign}{}", split(exponent as usize)),
                    _ => format!("{sign}{digits}{}.0", "0".repeat(missing)),
                }
            }
            exponent @ -2..=0 if !digits.is_empty() => {
                format!("{sign}0.{}{digits}", "0".repeat(exponent.unsigned_abs() as usize))
            }
            _ if digits.is_empty() => "0.0".to_string(),
            exponent => format!("{sign}{}E{}", split(1), exponent - 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_print_as_in_java() {
        let java = |text: &str| Decimal::parse(text).map(|number| number.to_java()).unwrap_or_default();
        let pairs = [
            ("0.5", "0.5"),
            ("5e-1", "0.5"),
            (".5f", "0.5"),
            ("2", "2.0"),
            ("-0.1", "-0.1"),
            ("1000000", "1000000.0"),
            ("9999999.25", "9999999.25"),
            ("10000000", "1.0E7"),
            ("1.7976931348623157E308", "1.7976931348623157E308"),
            ("0.001", "0.001"),
            ("0.0001", "1.0E-4"),
            ("-0", "0.0"),
            ("half", ""),
            (".", ""),
            ("1.2.3", ""),
        ];
        for (text, expected) in pairs {
            assert_eq!(java(text), expected, "{text}");
        }
    }

    #[test]
    fn numbers_compare_by_value() {
        let ordered = ["-20", "-3", "-0.5", "0", "0.009", "0.5", "0.51", "1", "1.0000001", "9", "10", "1e9"];
        let numbers: Vec<Decimal> = ordered.iter().filter_map(|text| Decimal::parse(text)).collect();
        assert_eq!(numbers.len(), ordered.len());
        for (left, right) in numbers.iter().zip(numbers.iter().skip(1)) {
            assert_eq!(left.compare(right), Ordering::Less, "{left:?} {right:?}");
            assert_eq!(right.compare(left), Ordering::Greater);
        }
    }
}
