use machine::hardware::payload::{copy_in, copy_in_racing, copy_out, copy_out_racing, view, view_mut};
use machine::hardware::region::Region;
use machine::hardware::worker;
use proptest::prelude::*;
use std::sync::atomic::{AtomicBool, Ordering};

/// A row, as bytes of aligned words.
fn row(bytes: usize) -> Vec<u64> {
    (0..bytes.div_ceil(8) as u64).map(|n| n.wrapping_mul(0x9e37_79b9_7f4a_7c15)).collect()
}

fn bytes_of(row: &mut [u64]) -> &mut [u8] {
    // SAFETY: the same memory; every byte of a word is a byte.
    unsafe { std::slice::from_raw_parts_mut(row.as_mut_ptr().cast(), size_of_val(row)) }
}

/// Both racing copies against slices, with `offset + from.len()` bytes in the row.
fn check(row: &mut [u64], offset: usize, from: &[u8]) {
    let mut expected = bytes_of(row).to_vec();
    expected[offset..offset + from.len()].copy_from_slice(from);
    let at = bytes_of(row)[offset..].as_mut_ptr();
    // SAFETY: the words that hold the bytes are words of `row`, which nobody else has.
    unsafe { copy_in_racing(at, from) };
    assert_eq!(bytes_of(row), expected, "written at {offset}, {} bytes", from.len());
    // Bytes around, to see that nothing else is written.
    let mut into = vec![0xa5; from.len() + 2];
    let at = bytes_of(row)[offset..].as_mut_ptr();
    // SAFETY: as above.
    unsafe { copy_out_racing(at, &mut into[1..=from.len()]) };
    assert_eq!(&into[1..=from.len()], from, "read at {offset}");
    assert_eq!((into[0], into[from.len() + 1]), (0xa5, 0xa5));
}

#[test]
fn racing_copies_are_copies_at_every_alignment_and_length() {
    let from: Vec<u8> = (0..150).map(|n| n ^ 0x5c).collect();
    for offset in 0..17 {
        for len in 0..=from.len() {
            check(&mut row(offset + len), offset, &from[..len]);
        }
    }
}

proptest! {
    #[test]
    fn racing_copies_are_copies(
        offset in 0usize..200,
        padding in 0usize..40,
        from in prop::collection::vec(any::<u8>(), 0..1200),
    ) {
        check(&mut row(offset + from.len() + padding), offset, &from);
    }

    #[test]
    fn plain_access_is_access(offset in 0usize..50, from in prop::collection::vec(any::<u8>(), 0..300)) {
        let mut row = row(offset + from.len() + 1);
        let at = bytes_of(&mut row)[offset..].as_mut_ptr();
        let mut into = vec![0; from.len()];
        // SAFETY: the bytes lie in `row`, which nobody else has.
        unsafe { copy_in(at, &from) };
        // SAFETY: as above.
        unsafe { copy_out(at, &mut into) };
        prop_assert_eq!(&into, &from);
        // SAFETY: as above.
        let seen = unsafe { view(at, from.len(), <[u8]>::to_vec) };
        prop_assert_eq!(&seen, &from);
        // SAFETY: as above.
        unsafe { view_mut(at, from.len(), |bytes| bytes.reverse()) };
        into.reverse();
        // SAFETY: as above.
        let seen = unsafe { view(at, from.len(), <[u8]>::to_vec) };
        prop_assert_eq!(seen, into);
    }
}

/// A writer and a reader at once: words come whole, and bytes beside the copy stay.
#[test]
fn a_racing_copy_tears_between_words_only() {
    const LEN: usize = 100;
    let region = Region::reserve(4096).expect("a page");
    let done = AtomicBool::new(false);
    let reads = worker::run(2, |w| {
        // Starts at byte 4 of its first word.
        let at = region.base().wrapping_add(12);
        if w == 0 {
            for round in 0..200_000u32 {
                // SAFETY: words of the region; this is the only writer.
                unsafe { copy_in_racing(at, &[round as u8; LEN]) };
            }
            done.store(true, Ordering::Relaxed);
            return 0;
        }
        let (mut reads, mut into) = (0u64, [0; LEN]);
        while !done.load(Ordering::Relaxed) || reads == 0 {
            // SAFETY: words of the region, written by racing copies only.
            unsafe { copy_out_racing(at, &mut into) };
            let (head, words) = into.split_at(4);
            for word in std::iter::once(head).chain(words.chunks(8)) {
                assert!(word.iter().all(|byte| byte == &word[0]), "torn within a word: {word:?}");
            }
            reads += 1;
        }
        reads
    });
    assert!(reads[1] > 0);
    // SAFETY: the workers have ended.
    let beside = unsafe {
        (view(region.base(), 12, <[u8]>::to_vec), view(region.base().wrapping_add(112), 8, <[u8]>::to_vec))
    };
    assert_eq!(beside, (vec![0; 12], vec![0; 8]));
}
