//! What is too much is refused, by name and number, and everything else goes on.

use tempfile::tempdir;
use trireme::{Bytes, Database, Error, Table};

const NUMBERS: Table<u64, u64> = Table::new("numbers");
const TEXTS: Table<u64, Bytes> = Table::new("texts");
const PAGES: Table<u64, [u8; 1 << 16]> = Table::new("pages");

#[test]
fn who_writes_more_than_a_gibibyte_is_refused_and_nobody_else() -> Result<(), Error> {
    let folder = tempdir().expect("a folder");
    let db = Database::open(folder.path())?;
    let (numbers, texts, pages) = (db.table(NUMBERS)?, db.table(TEXTS)?, db.table(PAGES)?);
    db.transact(|tx| tx.upsert(pages, 1, &[1; 1 << 16]))?;
    let text = vec![7; 16 << 20];
    let mut written = (0, 0);
    let refused = db.transact(|tx| {
        // The 64th such text would not fit in, nor do the last of 256 pages.
        (0..63).try_for_each(|key| tx.upsert(texts, key, &text))?;
        written.0 += 1;
        (0..=255).try_for_each(|nth| {
            tx.update(pages, 1, |page| page[0] = nth)?;
            written.1 += 1;
            Ok(())
        })
    });
    let Err(Error::WritesTooMuch { most }) = refused else { panic!("{refused:?}") };
    assert!((1_000_000_000..1 << 30).contains(&most), "{most}");
    assert_eq!(written, (1, 253));
    db.transact(|tx| tx.upsert(numbers, 1, &1))?;
    db.transact(|tx| {
        assert!(!tx.contains(texts, 0)? && tx.contains(numbers, 1)?);
        assert_eq!(tx.get_with(pages, 1, |page| page[0])?, Some(1));
        Ok::<_, Error>(())
    })?;
    db.close()
}
