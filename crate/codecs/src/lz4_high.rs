//! LZ4 blocks that take longer to make and are smaller: what every `compression.lz4.level` but the default asks for, as
//! lz4-java's high compressor does. Of the earlier places that begin alike it looks at 2^(level−1), newest first, and
//! before it takes a match it sees whether the next byte begins a longer one.

/// A shorter match is not worth its three bytes.
const MATCH_BYTES_MIN: usize = 4;
/// The format wants the last bytes as literals, and no match to begin this close to the end.
const LAST_LITERALS: usize = 5;
const LAST_MATCH_BEGINS: usize = 12;
/// An offset has two bytes.
const OFFSET_MAX: usize = 65_535;
const HASH_BITS: u32 = 15;

#[derive(Clone, Copy)]
struct Match {
    at: usize,
    offset: usize,
    length: usize,
}

/// For each place the one before it that hashes alike.
struct Chains<'a> {
    input: &'a [u8],
    /// By hash, the newest place plus one; 0 is none.
    newest: Vec<u32>,
    /// By place, the same for the one before.
    before: Vec<u32>,
    attempts: usize,
}

impl Chains<'_> {
    fn hash(&self, at: usize) -> Option<usize> {
        let four = self.input.get(at..at + MATCH_BYTES_MIN)?;
        let word = u32::from_le_bytes(four.try_into().ok()?);
        Some((word.wrapping_mul(2_654_435_761) >> (32 - HASH_BITS)) as usize)
    }

    /// Lets every place before `end` be found.
    fn insert_up_to(&mut self, end: usize) {
        for at in self.before.len()..end {
            let newest = self.hash(at).and_then(|hash| self.newest.get_mut(hash));
            let before = newest.map_or(0, |newest| std::mem::replace(newest, at as u32 + 1));
            self.before.push(before);
        }
    }

    /// The longest match for what begins at `at`, the nearest of equals.
    fn longest(&mut self, at: usize) -> Option<Match> {
        if at + LAST_MATCH_BEGINS > self.input.len() {
            return None;
        }
        self.insert_up_to(at);
        let wanted = self.input.get(at..self.input.len() - LAST_LITERALS)?;
        let mut best: Option<Match> = None;
        let mut candidate = *self.newest.get(self.hash(at)?)?;
        for _ in 0..self.attempts {
            let Some(place) = (candidate as usize).checked_sub(1).filter(|place| at - place <= OFFSET_MAX) else {
                break;
            };
            let there = self.input.get(place..).unwrap_or_default();
            let length = wanted.iter().zip(there).take_while(|(a, b)| a == b).count();
            if length >= MATCH_BYTES_MIN && best.is_none_or(|best| length > best.length) {
                best = Some(Match { at, offset: at - place, length });
            }
            candidate = self.before.get(place).copied().unwrap_or_default();
        }
        best
    }
}

pub fn compress_block(input: &[u8], level: i32) -> Vec<u8> {
    let attempts = 1 << (level.clamp(1, 17) - 1);
    let newest = vec![0; 1 << HASH_BITS];
    let mut chains = Chains { input, newest, before: Vec::with_capacity(input.len()), attempts };
    let mut out = Vec::with_capacity(input.len());
    let (mut anchor, mut at) = (0, 0);
    while at + LAST_MATCH_BEGINS <= input.len() {
        let Some(mut best) = chains.longest(at) else {
            at += 1;
            continue;
        };
        while let Some(next) = chains.longest(best.at + 1).filter(|next| next.length > best.length) {
            best = next;
        }
        let literals = input.get(anchor..best.at).unwrap_or_default();
        sequence(&mut out, literals, Some(best));
        at = best.at + best.length;
        anchor = at;
    }
    sequence(&mut out, input.get(anchor..).unwrap_or_default(), None);
    out
}

/// A token, literals, and the match behind them; the last sequence has none.
fn sequence(out: &mut Vec<u8>, literals: &[u8], then: Option<Match>) {
    let matched = then.map_or(0, |then| then.length - MATCH_BYTES_MIN);
    out.push((literals.len().min(15) as u8) << 4 | matched.min(15) as u8);
    extend_length(out, literals.len());
    out.extend_from_slice(literals);
    if let Some(then) = then {
        out.extend_from_slice(&(then.offset as u16).to_le_bytes());
        extend_length(out, matched);
    }
}

/// What of a length does not fit into the token's four bits.
fn extend_length(out: &mut Vec<u8>, length: usize) {
    let Some(mut rest) = length.checked_sub(15) else { return };
    while rest >= 255 {
        out.push(255);
        rest -= 255;
    }
    out.push(rest as u8);
}
