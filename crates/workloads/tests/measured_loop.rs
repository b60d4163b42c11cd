//! Clients allocate nothing in the measured loop: neither when they draw a transaction, nor when it runs or ends.

use contract::{
    Abort, Client, Completion, Insertion, Key, Merge, Outcome, Plan, Presence, Procedure, Receipts, Seat,
    Span, TableId, Transaction, Workload,
};
use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use workloads::{Parameters, Tpcc, WorkloadVisitor, build};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: everything is handed on to the system's allocator as it is.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
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

    fn insert(&mut self, _: TableId, _: Key, _: &[u8]) -> Result<Insertion, Abort> {
        Ok(Insertion::Inserted)
    }

    fn delete(&mut self, _: TableId, key: Key) -> Result<Presence, Abort> {
        Ok(self.presence(key))
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
            let completion = Completion { outcome, began_ns, ended_ns, attempts: 1, receipts: &Nothing };
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

#[test]
fn drawing_inputs_of_tpcc_allocates_nothing() {
    let given: Parameters = [("warehouses", "7")].into_iter().collect();
    let mut inputs = Tpcc::new(&given).expect("valid parameters").inputs(Seat::new(1, 3, 7));
    let before = ALLOCATIONS.get();
    for _ in 0..5000 {
        std::hint::black_box(inputs.next_input());
    }
    assert_eq!(ALLOCATIONS.get(), before);
}

/// A test that cannot fail is none: what is counted is what is allocated.
#[test]
fn allocations_are_counted() {
    let before = ALLOCATIONS.get();
    drop(std::hint::black_box(vec![1u8; 100]));
    assert_eq!(ALLOCATIONS.get(), before + 1);
}
