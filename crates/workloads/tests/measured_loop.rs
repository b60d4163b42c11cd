//! Clients allocate nothing in the measured loop: neither when they draw a transaction, nor when it runs or ends.

mod common;

use common::Store;
use contract::{
    Abort, Client, Completion, Insertion, Key, Merge, Outcome, Plan, Presence, Procedure, Receipts, Scan,
    Seat, Span, TableId, Transaction, Workload,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use workloads::audit::Audited;
use workloads::{Parameters, WorkloadVisitor, build};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
    /// Whether the store is at work, whose allocations do not count.
    static IN_STORE: Cell<bool> = const { Cell::new(false) };
}

// SAFETY: everything is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + u64::from(!IN_STORE.get()));
        // SAFETY: the caller's contract is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: the caller's contract is the same.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static COUNTING: Counting = Counting;

/// Every key that was loaded has the row that is shown, and no other key has one. It keeps nothing.
struct Shown {
    /// Aligned as rows are.
    row: [u64; 128],
    /// Keys from here on have no row.
    end: u64,
}

impl Shown {
    fn presence(&self, key: Key) -> Presence {
        if key.0 < self.end { Presence::Present } else { Presence::Missing }
    }
}

impl Transaction for Shown {
    fn read(
        &mut self,
        _: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        let presence = self.presence(key);
        if presence == Presence::Present {
            see(&zerocopy::IntoBytes::as_bytes(&self.row)[span.start()..span.end()]);
        }
        Ok(presence)
    }

    fn update(
        &mut self,
        _: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        change(&mut zerocopy::IntoBytes::as_mut_bytes(&mut self.row)[span.start()..span.end()]);
        Ok(self.presence(key))
    }

    fn write(&mut self, _: TableId, key: Key, _: usize, _: &[u8]) -> Result<Presence, Abort> {
        Ok(self.presence(key))
    }

    fn merge(&mut self, _: TableId, _: Key, _: Span, _: Merge, _: &[u8]) -> Result<Presence, Abort> {
        unreachable!("these workloads do not merge")
    }

    fn read_whole(&mut self, _: TableId, key: Key, see: &mut dyn FnMut(&[u8])) -> Result<Presence, Abort> {
        let presence = self.presence(key);
        if presence == Presence::Present {
            see(zerocopy::IntoBytes::as_bytes(&self.row));
        }
        Ok(presence)
    }

    fn replace(&mut self, _: TableId, key: Key, _: &[u8]) -> Result<Presence, Abort> {
        Ok(self.presence(key))
    }

    fn insert(&mut self, _: TableId, _: Key, _: &[u8]) -> Result<Insertion, Abort> {
        Ok(Insertion::Inserted)
    }

    fn delete(&mut self, _: TableId, key: Key) -> Result<Presence, Abort> {
        Ok(self.presence(key))
    }

    fn key(&mut self, _: TableId, _: &[u8]) -> Key {
        unreachable!("these workloads have no byte strings")
    }

    fn scan(&mut self, _: &Scan<'_>, _: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        unreachable!("these workloads do not scan")
    }
}

/// A store that is not counted, but what it shows things to is.
struct Uncounted<'s, 'w, W>(&'s mut Store<'w, W>);

fn uncounted<R>(work: impl FnOnce() -> R) -> R {
    let outer = IN_STORE.replace(true);
    let result = work();
    IN_STORE.set(outer);
    result
}

fn counted<R>(work: impl FnOnce() -> R) -> R {
    let outer = IN_STORE.replace(false);
    let result = work();
    IN_STORE.set(outer);
    result
}

impl<W: Workload> Transaction for Uncounted<'_, '_, W> {
    fn read(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        uncounted(|| self.0.read(table, key, span, &mut |bytes| counted(|| see(bytes))))
    }

    fn update(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        change: &mut dyn FnMut(&mut [u8]),
    ) -> Result<Presence, Abort> {
        uncounted(|| self.0.update(table, key, span, &mut |bytes| counted(|| change(bytes))))
    }

    fn write(&mut self, table: TableId, key: Key, offset: usize, bytes: &[u8]) -> Result<Presence, Abort> {
        uncounted(|| self.0.write(table, key, offset, bytes))
    }

    fn merge(
        &mut self,
        table: TableId,
        key: Key,
        span: Span,
        merge: Merge,
        argument: &[u8],
    ) -> Result<Presence, Abort> {
        uncounted(|| self.0.merge(table, key, span, merge, argument))
    }

    fn read_whole(
        &mut self,
        table: TableId,
        key: Key,
        see: &mut dyn FnMut(&[u8]),
    ) -> Result<Presence, Abort> {
        uncounted(|| self.0.read_whole(table, key, &mut |bytes| counted(|| see(bytes))))
    }

    fn replace(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Presence, Abort> {
        uncounted(|| self.0.replace(table, key, row))
    }

    fn insert(&mut self, table: TableId, key: Key, row: &[u8]) -> Result<Insertion, Abort> {
        uncounted(|| self.0.insert(table, key, row))
    }

    fn delete(&mut self, table: TableId, key: Key) -> Result<Presence, Abort> {
        uncounted(|| self.0.delete(table, key))
    }

    fn key(&mut self, table: TableId, bytes: &[u8]) -> Key {
        uncounted(|| self.0.key(table, bytes))
    }

    fn scan(&mut self, scan: &Scan<'_>, see: &mut dyn FnMut(&[u8], &[u8])) -> Result<usize, Abort> {
        uncounted(|| self.0.scan(scan, &mut |key, bytes| counted(|| see(key, bytes))))
    }
}

struct Nothing;

impl Receipts for Nothing {
    fn argument(&self, _: usize) -> &[u8] {
        &[]
    }
}

struct Allocations;

impl WorkloadVisitor for Allocations {
    type Output = u64;

    fn visit<W: Workload>(self, workload: &W) -> u64 {
        let mut client = workload.client(Seat::new(1, 3, 7).over(5));
        let mut shown = Shown { row: [1; 128], end: workload.tables()[0].rows + 1 };
        let mut plan = Plan::with_capacity(200);
        let before = ALLOCATIONS.get();
        for _ in 0..5000 {
            let procedure = client.next();
            plan.clear();
            procedure.plan(&mut shown, &mut plan).expect("nothing aborts");
            let outcome = procedure.run(&mut shown).expect("nothing aborts");
            let (began_ns, ended_ns) = (0, 1);
            let completion = Completion {
                outcome,
                began_ns,
                ended_ns,
                attempts: 1,
                id: None,
                epoch: None,
                snapshot: None,
                receipts: &Nothing,
            };
            client.finished(procedure, &completion);
            assert!(matches!(outcome, Outcome::Commit | Outcome::Rollback));
        }
        ALLOCATIONS.get() - before
    }
}

#[test]
fn no_client_allocates() {
    let cases: [(&str, &[(&str, &str)]); 10] = [
        ("micro", &[("writes", "50"), ("remote", "2")]),
        ("micro", &[("order", "random")]),
        ("ycsb", &[("update", "blind")]),
        ("ycsb", &[("distinct", "yes"), ("order", "key")]),
        ("ycsb", &[("mix", "D")]),
        ("ycsb", &[("update", "insert"), ("split", "transaction")]),
        ("smallbank", &[]),
        ("smallbank", &[("remote", "30"), ("mix", "original")]),
        ("tatp", &[]),
        ("tatp", &[("from", "home")]),
    ];
    for (name, given) in cases {
        let given: Parameters = given.iter().copied().collect();
        let workload = build(name, &given).expect("valid parameters");
        assert_eq!(workload.visit(Allocations), 0, "{name} {given:?}");
    }
}

/// The same over a store that keeps what is done, for workloads that find their way by what they read.
struct AllocationsOverStore;

impl WorkloadVisitor for AllocationsOverStore {
    type Output = u64;

    fn visit<W: Audited>(self, workload: &W) -> u64 {
        let mut store = Store::whole(workload);
        let mut client = workload.client(Seat::new(1, 3, 7).over(5));
        let mut plan = Plan::with_capacity(200);
        let before = ALLOCATIONS.get();
        for _ in 0..3000 {
            let procedure = client.next();
            plan.clear();
            uncounted(|| store.begin());
            let mut uncounted_store = Uncounted(&mut store);
            procedure.plan(&mut uncounted_store, &mut plan).expect("nothing aborts");
            let outcome = procedure.run(&mut uncounted_store).expect("nothing aborts");
            let (began_ns, ended_ns) = (0, 1);
            let completion = Completion {
                outcome,
                began_ns,
                ended_ns,
                attempts: 1,
                id: None,
                epoch: None,
                snapshot: None,
                receipts: &Nothing,
            };
            client.finished(procedure, &completion);
            uncounted(|| {
                if outcome == Outcome::Rollback {
                    store.undo();
                }
                store.forget();
            });
        }
        ALLOCATIONS.get() - before
    }
}

#[test]
fn no_client_of_a_scanning_workload_allocates() {
    let cases: [(&str, &[(&str, &str)]); 5] = [
        ("ycsb", &[("mix", "E"), ("records", "5000")]),
        ("ycsb", &[("mix", "E"), ("records", "5000"), ("scan-lengths", "zipfian"), ("accesses", "4")]),
        ("ycsb", &[("scan-rows", "10"), ("records", "5000"), ("distribution", "latest")]),
        ("tpcc", &[]),
        ("tpcc", &[("item", "unprotected"), ("warehouses", "2"), ("rollbacks", "20")]),
    ];
    for (name, given) in cases {
        let given: Parameters = given.iter().copied().collect();
        let workload = build(name, &given).expect("valid parameters");
        assert_eq!(workload.visit(AllocationsOverStore), 0, "{name} {given:?}");
    }
}

/// A test that cannot fail is none: what is counted is what is allocated.
#[test]
fn allocations_are_counted() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(vec![1u8; 100]));
    assert_eq!(ALLOCATIONS.get(), before + 1);
}
