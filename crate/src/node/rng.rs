//! One small seeded generator per node and per link.

/// SplitMix64 (Steele, Lea, Flood 2014): 64 bits of state, good enough for jitter and ids, and cheap to fork.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rng(u64);

impl Rng {
    pub fn new(seed: u64) -> Rng {
        Rng(seed)
    }

    /// A generator of its own for `name`, so that one more draw here changes nothing there.
    pub fn fork(&self, name: &str) -> Rng {
        let mut state = self.0 ^ 0x9e37_79b9_7f4a_7c15;
        for byte in name.bytes() {
            state = mix(state ^ u64::from(byte));
        }
        Rng(state)
    }

    pub fn next_u64(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// A number in `0..bound`; 0 if `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        // The bias of a plain remainder is below 2^-32 for every bound that we use.
        if bound == 0 { 0 } else { self.next_u64() % bound }
    }

    pub fn bytes16(&mut self) -> [u8; 16] {
        let (high, low) = (self.next_u64().to_be_bytes(), self.next_u64().to_be_bytes());
        std::array::from_fn(|i| if i < 8 { high[i] } else { low[i - 8] })
    }
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_does_not_depend_on_draws_of_its_parent() {
        let mut parent = Rng::new(7);
        let before = parent.fork("link 1").next_u64();
        let same_parent = Rng::new(7);
        parent.next_u64();
        assert_eq!(before, same_parent.fork("link 1").next_u64());
        assert_ne!(before, same_parent.fork("link 2").next_u64());
    }
}
