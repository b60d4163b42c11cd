//! Accounts: money moves between them, in a folder that has it again when the program runs again.
//!
//! `cargo run -p trireme-db --example accounts [FOLDER]`

use std::env;
use trireme::{Database, Error, Table};
use zerocopy::{FromBytes, Immutable, IntoBytes, KnownLayout};

/// A row of sixteen bytes.
#[derive(Clone, Copy, Debug, FromBytes, IntoBytes, Immutable, KnownLayout)]
#[repr(C)]
struct Account {
    cents: i64,
    moves: u64,
}

const ACCOUNTS: Table<u32, Account> = Table::new("accounts");

#[derive(Debug)]
#[allow(dead_code, reason = "they are printed")]
enum TransferError {
    NoAccount(u32),
    TooLittle { cents: i64 },
    Database(Error),
}

impl From<Error> for TransferError {
    fn from(error: Error) -> Self {
        TransferError::Database(error)
    }
}

fn main() -> Result<(), TransferError> {
    let folder = env::args().nth(1).map_or_else(|| env::temp_dir().join("trireme-accounts"), Into::into);
    let db = Database::open(&folder)?;
    let accounts = db.table(ACCOUNTS)?;
    if let Some(recovered) = db.recovered() {
        println!("recovered {} transactions from {}", recovered.transactions, folder.display());
    }
    db.transact(|tx| {
        for number in 1..=3 {
            if !tx.contains(accounts, number)? {
                tx.insert(accounts, number, &Account { cents: 10_000, moves: 0 })?;
            }
        }
        Ok::<_, Error>(())
    })?;

    let transfer = |from: u32, to: u32, cents: i64| {
        db.transact(|tx| {
            let take = |account: &mut Account| {
                account.cents -= cents;
                account.moves += 1;
                account.cents
            };
            let left = tx.update(accounts, from, take)?.ok_or(TransferError::NoAccount(from))?;
            if left < 0 {
                // An error undoes the transaction: nothing was taken.
                return Err(TransferError::TooLittle { cents: left + cents });
            }
            let give = |account: &mut Account| account.cents += cents;
            tx.update(accounts, to, give)?.ok_or(TransferError::NoAccount(to))
        })
    };
    transfer(1, 2, 3_000)?;
    transfer(2, 3, 1_550)?;
    println!("to account 9: {:?}", transfer(1, 9, 100));
    println!("too much: {:?}", transfer(3, 1, 100_000_000));

    db.transact(|tx| {
        for row in tx.range(accounts, ..)? {
            let (number, Account { cents, moves }) = row?;
            println!("account {number}: {}.{:02} after {moves} payments", cents / 100, cents % 100);
        }
        Ok::<_, Error>(())
    })?;
    db.close()?;
    Ok(())
}
