//! What the ordered index is tried with, natively and under explored interleavings.
#![allow(dead_code, reason = "each test uses its part")]

use fastrand::Rng;

/// Kinds of keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keys {
    /// Numbers of eight bytes, big-endian, close to each other.
    Numbers,
    /// Eight bytes of any kind.
    Words,
    /// A few bytes, mostly zeroes and ones: prefixes of each other.
    Prefixes,
    /// A long common beginning, then a number, then a tail: out of line, with equal slices.
    Long,
    /// 0 bytes to 1 KiB.
    Any,
}

impl Keys {
    pub const ALL: [Keys; 5] = [Keys::Numbers, Keys::Words, Keys::Prefixes, Keys::Long, Keys::Any];

    /// One of about `many` keys.
    pub fn draw(self, random: &mut Rng, many: u64) -> Vec<u8> {
        self.key(random.u64(0..many))
    }

    /// The key that a number stands for; different ones may stand for the same.
    pub fn key(self, n: u64) -> Vec<u8> {
        let mut random = Rng::with_seed(n);
        match self {
            Keys::Numbers => (0x0102_0300 + n).to_be_bytes().to_vec(),
            Keys::Words => random.u64(..).to_be_bytes().to_vec(),
            Keys::Prefixes => {
                let length = random.usize(..12);
                (0..length).map(|_| [0, 0, 1, 255][random.usize(..4)]).collect()
            }
            Keys::Long => {
                let stem = [&b"warehouse"[..], b"warehouse/district\0\0\0", b"w"][random.usize(..3)];
                let mut key = stem.to_vec();
                key.extend(std::iter::repeat_n(0, random.usize(..20)));
                key.extend((n % 7).to_be_bytes());
                key.extend(std::iter::repeat_n(b'x', random.usize(..3) * 9));
                key
            }
            Keys::Any => {
                let length = if random.bool() { random.usize(..20) } else { random.usize(..=1024) };
                let mut key = vec![[0, b'a', 255][random.usize(..3)]; length];
                if let Some(byte) = key.get_mut(random.usize(..=length.max(1) - 1)) {
                    *byte = random.u8(..);
                }
                key
            }
        }
    }
}
