//! CRC-32C for the page: one table, made on first use. The `crc32c` crate's tables are 10 KB that no compression makes
//! smaller; natively it has the processor's instructions.

use std::sync::OnceLock;

/// The Castagnoli polynomial, lowest bit first.
const POLYNOMIAL: u32 = 0x82f6_3b78;

pub fn crc32c(bytes: &[u8]) -> u32 {
    crc32c_append(0, bytes)
}

/// The checksum of what has the checksum `crc`, followed by `bytes`.
pub fn crc32c_append(crc: u32, bytes: &[u8]) -> u32 {
    static TABLE: OnceLock<[u32; 256]> = OnceLock::new();
    let table = TABLE.get_or_init(table);
    let step = |crc: u32, byte: &u8| (crc >> 8) ^ table[usize::from(crc as u8 ^ byte)];
    !bytes.iter().fold(!crc, step)
}

/// What each value of a byte adds.
fn table() -> [u32; 256] {
    let shift = |crc: u32| if crc & 1 == 1 { (crc >> 1) ^ POLYNOMIAL } else { crc >> 1 };
    std::array::from_fn(|byte| (0..8).fold(byte as u32, |crc, _| shift(crc)))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_check_value_is_rfc_3720s() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
    }

    proptest! {
        #[test]
        fn the_small_checksum_is_that_of_the_processor(first: Vec<u8>, then: Vec<u8>) {
            prop_assert_eq!(crc32c_append(crc32c(&first), &then), ::crc32c::crc32c_append(::crc32c::crc32c(&first), &then));
        }
    }
}
