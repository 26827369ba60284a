//! Kafka's variable-length integers: seven bits a byte, low group first; the signed ones zigzag first so that small
//! negative numbers stay short (org.apache.kafka.common.utils.ByteUtils).

/// Appends an unsigned varint.
pub fn put_uvarint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a zigzag varint; a varint of 32 bits has the same bytes as the varlong of the same number.
pub fn put_varlong(out: &mut Vec<u8>, value: i64) {
    put_uvarint(out, zigzag(value));
}

/// How many bytes [`put_varlong`] writes for a 32-bit number.
pub fn size_of_varint(value: i32) -> usize {
    size_of_varlong(i64::from(value))
}

/// How many bytes [`put_varlong`] writes.
pub fn size_of_varlong(value: i64) -> usize {
    let bits = 64 - zigzag(value).leading_zeros() as usize;
    bits.max(1).div_ceil(7)
}

/// Takes an unsigned varint of at most 32 bits from the front; `None` if it is cut short or longer than 5 bytes.
pub fn read_uvarint(bytes: &mut &[u8]) -> Option<u32> {
    read_groups(bytes, 5).map(|value| value as u32)
}

/// Takes a zigzag varint of at most 5 bytes from the front; `None` if it is cut short or too long.
pub fn read_varint(bytes: &mut &[u8]) -> Option<i32> {
    let raw = read_groups(bytes, 5)? as u32;
    Some((raw >> 1) as i32 ^ -((raw & 1) as i32))
}

/// Takes a zigzag varlong of at most 10 bytes from the front; `None` if it is cut short or too long.
pub fn read_varlong(bytes: &mut &[u8]) -> Option<i64> {
    let raw = read_groups(bytes, 10)?;
    Some((raw >> 1) as i64 ^ -((raw & 1) as i64))
}

fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)) as u64
}

fn read_groups(bytes: &mut &[u8], most: usize) -> Option<u64> {
    let mut value = 0u64;
    for (i, &byte) in bytes.iter().take(most).enumerate() {
        value |= u64::from(byte & 0x7f) << (7 * i);
        if byte & 0x80 == 0 {
            *bytes = bytes.get(i + 1..)?;
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn known_numbers_have_kafkas_bytes() {
        let bytes = |value| {
            let mut out = Vec::new();
            put_varlong(&mut out, value);
            out
        };
        assert_eq!(bytes(0), [0]);
        assert_eq!(bytes(-1), [1]);
        assert_eq!(bytes(1), [2]);
        assert_eq!(bytes(63), [0x7e]);
        assert_eq!(bytes(-64), [0x7f]);
        assert_eq!(bytes(64), [0x80, 0x01]);
        assert_eq!(bytes(i64::from(i32::MAX)), [0xfe, 0xff, 0xff, 0xff, 0x0f]);
        assert_eq!(bytes(i64::MIN), [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01]);
    }

    #[test]
    fn a_varint_that_never_ends_is_refused() {
        assert_eq!(read_varint(&mut [0xffu8; 6].as_slice()), None);
        assert_eq!(read_varlong(&mut [0xffu8; 11].as_slice()), None);
        assert_eq!(read_varint(&mut [0x80u8].as_slice()), None);
        assert_eq!(read_uvarint(&mut [].as_slice()), None);
    }

    proptest! {
        #[test]
        fn every_number_comes_back_in_the_announced_size(long: i64, int: i32) {
            let mut out = Vec::new();
            put_varlong(&mut out, long);
            prop_assert_eq!(out.len(), size_of_varlong(long));
            prop_assert_eq!(read_varlong(&mut out.as_slice()), Some(long));
            out.clear();
            put_varlong(&mut out, i64::from(int));
            prop_assert_eq!(out.len(), size_of_varint(int));
            prop_assert_eq!(read_varint(&mut out.as_slice()), Some(int));
        }
    }
}
