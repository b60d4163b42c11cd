//! Tests of the log's format.

use super::*;
use proptest::collection::vec;
use proptest::prelude::*;

type Written = (u16, Vec<u8>, u8, u32, Vec<u8>);

fn change_of((_, _, kind, offset, bytes): &Written) -> Change<'_> {
    match kind % 3 {
        0 => Change::Insert(bytes),
        1 => Change::Update { offset: *offset, bytes },
        _ => Change::Delete,
    }
}

fn write(payload: &mut Vec<u8>, epoch: u64, id: u64, records: &[Written]) {
    let mut writer = Writer::begin(payload, epoch, id);
    for record in records {
        let (table, key) = (record.0, &record.1[..]);
        let key = key.try_into().map_or(LoggedKey::String(key), LoggedKey::Number);
        match change_of(record) {
            Change::Insert(row) => writer.insert(table, key, row.len(), |to| to.copy_from_slice(row)),
            Change::Update { offset, bytes } => {
                let span = Span { offset, len: bytes.len() as u32 };
                writer.update(table, key, span, |to| to.copy_from_slice(bytes));
            }
            Change::Delete => writer.delete(table, key),
        }
    }
    writer.end();
}

fn sealed(payload: &[u8]) -> Vec<u8> {
    let mut block = vec![0; BLOCK_HEADER_BYTES];
    block.extend_from_slice(payload);
    let bytes = payload.len() as u32;
    let header = BlockHeader {
        kind: Kind::Transactions,
        compressed: false,
        stored_bytes: bytes,
        raw_bytes: bytes,
        first_epoch: 3,
        last_epoch: 9,
        synced: 64,
        slot: 2,
    };
    header.seal(here(), &mut block);
    block
}

fn here() -> Place {
    Place { file: 7, offset: 64 }
}

proptest! {
    #[test]
    fn transactions_are_read_as_they_were_written(
        transactions in vec((any::<u64>(), any::<u64>(), vec(any::<Written>(), 0..5)), 0..5),
    ) {
        let mut payload = Vec::new();
        for (epoch, id, records) in &transactions {
            write(&mut payload, *epoch, *id, records);
        }
        let block = sealed(&payload);
        let (header, stored) = BlockHeader::decode(here(), &block).expect("a block");
        prop_assert_eq!(header.file_bytes(), block.len() as u64);
        let read: Vec<_> = Transactions::of(stored).collect::<Result<_, _>>().expect("whole");
        prop_assert_eq!(read.len(), transactions.len());
        for (read, (epoch, id, records)) in read.iter().zip(&transactions) {
            prop_assert_eq!((read.epoch, read.id), (*epoch, *id));
            let found: Vec<_> = read.records().collect::<Result<_, _>>().expect("whole");
            let expected: Vec<_> = records
                .iter()
                .map(|record| RedoRecord { table: record.0, key: &record.1, change: change_of(record) })
                .collect();
            prop_assert_eq!(found, expected);
        }
    }

    #[test]
    fn no_changed_bit_of_a_block_goes_unnoticed(bytes in vec(any::<u8>(), 0..300), at: prop::sample::Index, bit in 0..8) {
        let mut block = sealed(&bytes);
        let at = at.index(block.len());
        block[at] ^= 1u8 << bit;
        prop_assert!(BlockHeader::decode(here(), &block).is_err());
    }

    #[test]
    fn a_block_stands_in_one_place(bytes in vec(any::<u8>(), 0..300), file: u32, offset: u64) {
        let block = sealed(&bytes);
        let elsewhere = Place { file, offset };
        prop_assert!(BlockHeader::decode(elsewhere, &block).is_err() || elsewhere == here());
    }

    #[test]
    fn whatever_is_read_nothing_panics(bytes in vec(any::<u8>(), 0..400)) {
        let _ = FileHeader::decode(&bytes);
        let _ = BlockHeader::decode(here(), &bytes);
        let _ = BlockHeader::decode_unchecked(&bytes);
        let _ = RedoRecord::decode(&bytes);
        for transaction in Transactions::of(&bytes).flatten() {
            let _ = transaction.records().count();
        }
    }
}

#[test]
fn a_file_header_is_read_as_it_was_written_and_no_other_version_is() {
    let header =
        FileHeader { logger: 1, loggers: 2, generation: 3, segment: 4, log: 5 << 100, first_epoch: 6 };
    let mut bytes = header.encode();
    assert_eq!(FileHeader::decode(&bytes), Ok(header));
    for at in 0..bytes.len() {
        bytes[at] ^= 1;
        assert!(FileHeader::decode(&bytes).is_err(), "byte {at}");
        bytes[at] ^= 1;
    }
    bytes[8] = 1;
    assert_eq!(FileHeader::decode(&bytes), Err("format version 1; this program reads version 2".to_owned()));
}
