//! Topic, directory and incarnation ids.

use std::fmt;
use std::str::FromStr;

/// 16 bytes; as text 22 characters of URL-safe base64 without padding, as `org.apache.kafka.common.Uuid`.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, serde::Serialize, serde::Deserialize)]
pub struct Uuid(pub [u8; 16]);

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

impl Uuid {
    /// Stands for "no id" wherever an id may be missing.
    pub const ZERO: Uuid = Uuid([0; 16]);
    /// The topic id of `__cluster_metadata`.
    pub const METADATA_TOPIC: Uuid = Uuid([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);

    pub fn is_zero(&self) -> bool {
        *self == Uuid::ZERO
    }

    /// Makes a version 4 id of 16 random bytes. `None` where Kafka draws again: an id whose text begins with `-`, which
    /// command lines would take for an option.
    pub fn from_random(mut bytes: [u8; 16]) -> Option<Uuid> {
        bytes[6] = bytes[6] & 0x0f | 0x40;
        bytes[8] = bytes[8] & 0x3f | 0x80;
        let leads_with_dash = bytes[0] >> 2 == 62;
        (!leads_with_dash).then_some(Uuid(bytes))
    }
}

impl fmt::Display for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text = [0u8; 22];
        let number = u128::from_be_bytes(self.0);
        for (i, character) in text.iter_mut().enumerate() {
            // The last character carries 2 bits, at the top of its 6.
            let bits = if i < 21 { number >> (122 - 6 * i) } else { number << 4 };
            *character = ALPHABET[(bits & 63) as usize];
        }
        f.write_str(std::str::from_utf8(&text).unwrap_or_default())
    }
}

impl fmt::Debug for Uuid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// The text is not 22 characters of URL-safe base64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotAUuid;

impl FromStr for Uuid {
    type Err = NotAUuid;
    fn from_str(text: &str) -> Result<Uuid, NotAUuid> {
        let text = text.strip_suffix("==").unwrap_or(text);
        if text.len() != 22 {
            return Err(NotAUuid);
        }
        let mut number = 0u128;
        for (i, character) in text.bytes().enumerate() {
            let bits = ALPHABET.iter().position(|c| *c == character).ok_or(NotAUuid)? as u128;
            number = if i < 21 { number << 6 | bits } else { number << 2 | bits >> 4 };
        }
        Ok(Uuid(number.to_be_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_kafkas_base64() {
        let id = Uuid([0xf4, 0x2d, 0xc5, 0xcc, 0x50, 0x33, 0x4b, 0x6d, 0xbe, 0x9d, 0x4d, 0x8e, 0x43, 0xa6, 0x30, 0xdf]);
        assert_eq!(id.to_string(), "9C3FzFAzS22-nU2OQ6Yw3w");
        assert_eq!("9C3FzFAzS22-nU2OQ6Yw3w".parse(), Ok(id));
        assert_eq!(Uuid::METADATA_TOPIC.to_string(), "AAAAAAAAAAAAAAAAAAAAAQ");
        assert_eq!("short".parse::<Uuid>(), Err(NotAUuid));
        assert_eq!("AAAAAAAAAAAAAAAAAAAA*Q".parse::<Uuid>(), Err(NotAUuid));
    }

    #[test]
    fn a_random_id_never_begins_with_a_dash() {
        assert_eq!(Uuid::from_random([0xf8; 16]), None);
        let id = Uuid::from_random([0; 16]).map(|id| id.to_string());
        assert_eq!(id.as_deref(), Some("AAAAAAAAQACAAAAAAAAAAA"));
    }
}
