//! Scenes around one leaf, each of which has a moment at which a phantom could come in.
//!
//! A *looker* looks twice for what is in a small range that is empty at first, the *reserve*: by scans either way, or at one
//! key; perhaps it inserts a key of its own elsewhere in the leaf. *Hands* put keys in and take keys out meanwhile, each by a
//! transaction of its own, so that the leaf is split or dies, and in the end a key comes into the reserve. Some of that they do
//! only when the looker has looked for the first time, and it gives them the time to. When it commits, it must have seen the
//! same twice.
//!
//! One of them begins, and is to be interrupted at one access: [`play`] says whether the others came before it was past the
//! moment that the scene is about.

use contract::{
    Abort, Arrangement, Client, Completion, Direction, Engine, EngineOptions, Indexing, Key, Outcome,
    PartitionFunction, PartitionId, Plan, Procedure, RowLength, Scan, Seat, Selection, Span,
    TableDescription, TableId, Transaction, TransactionExt, Until, Workload,
};
use machine::simulated::cpu;
use std::cell::RefCell;
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

const T: TableId = TableId(0);
/// Rows to be read while time passes.
const CLOCK: TableId = TableId(1);
const TICKS: u64 = 20;
/// Keys of the reserve.
const WIDTH: u64 = 8;
/// How often a hand asks at most whether the looker has looked.
const PATIENCE: usize = 200;
/// The looker and the hands.
pub const ROLES: usize = 3;

/// The number of the nth loaded key; those between it and the next one are free.
const fn loaded(n: u64) -> u64 {
    n * 256 + 128
}

/// How the looker looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// By scans.
    Scan(Direction),
    /// At one key.
    Key,
}

/// What a hand does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Act {
    /// Waits until the looker has looked.
    Await,
    /// Inserts a key.
    Put(u64),
    /// Inserts a key of the reserve.
    Fill,
    /// Deletes a key.
    Take(u64),
}

/// What the looker inserts itself, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Own {
    Nothing,
    /// Before the hands that wait go on.
    First(u64),
    /// After they had the time to.
    Later(u64),
}

/// One of the scenes. A leaf has 15 entries.
#[derive(Clone, Copy, Debug)]
pub struct Scene {
    pub name: &'static str,
    loaded: u64,
    /// The reserve begins behind this one.
    behind: u64,
    own: Own,
    /// Who begins, and is interrupted: 0 is the looker, and the hands come after.
    first: usize,
    hands: [&'static [Act]; 2],
}

/// Most acts of a hand.
const ACTS: u64 = 4;

pub const SCENES: &[Scene] = &[
    Scene {
        name: "a leaf is filled",
        loaded: 12,
        behind: loaded(9),
        own: Own::Nothing,
        first: 0,
        hands: [&[Act::Fill], &[]],
    },
    Scene {
        name: "the reserve is split off",
        loaded: 15,
        behind: loaded(11),
        own: Own::Nothing,
        first: 0,
        hands: [&[Act::Put(loaded(3) + 100), Act::Await, Act::Fill], &[]],
    },
    Scene {
        name: "what lies before the reserve is split off",
        loaded: 15,
        behind: loaded(3),
        own: Own::Nothing,
        first: 0,
        hands: [&[Act::Put(loaded(13) + 100), Act::Await, Act::Fill], &[]],
    },
    Scene {
        name: "a leaf is begun",
        loaded: 15,
        behind: loaded(15),
        own: Own::Nothing,
        first: 0,
        hands: [&[Act::Put(loaded(15)), Act::Await, Act::Fill], &[]],
    },
    Scene {
        name: "a split in the reserve",
        loaded: 15,
        behind: loaded(11),
        own: Own::Nothing,
        first: 0,
        hands: [&[Act::Await, Act::Fill], &[]],
    },
    Scene {
        name: "an insert comes late to a split",
        loaded: 15,
        behind: loaded(11),
        own: Own::Nothing,
        first: 1,
        hands: [&[Act::Fill], &[Act::Put(loaded(3) + 100)]],
    },
    Scene {
        name: "a leaf dies before it is looked at",
        loaded: 16,
        behind: loaded(15),
        own: Own::Nothing,
        first: 0,
        hands: [&[Act::Take(loaded(15)), Act::Await, Act::Fill], &[]],
    },
    Scene {
        name: "a leaf dies that was looked at",
        loaded: 16,
        behind: loaded(15),
        own: Own::Nothing,
        first: 0,
        hands: [&[Act::Await, Act::Take(loaded(15)), Act::Fill], &[]],
    },
    Scene {
        name: "an insert comes late to a leaf that dies",
        loaded: 16,
        behind: loaded(15),
        own: Own::Nothing,
        first: 1,
        hands: [&[Act::Fill], &[Act::Take(loaded(15))]],
    },
    Scene {
        name: "a leaf dies on the left",
        loaded: 16,
        behind: loaded(15),
        own: Own::Nothing,
        first: 0,
        hands: [&[Act::Await, Act::Fill], &[Act::Take(loaded(15)), Act::Put(loaded(15))]],
    },
    Scene {
        name: "the looker splits the reserve off",
        loaded: 15,
        behind: loaded(11),
        own: Own::First(loaded(3) + 100),
        first: 0,
        hands: [&[Act::Await, Act::Fill], &[]],
    },
    Scene {
        name: "the looker splits the rest off",
        loaded: 15,
        behind: loaded(3),
        own: Own::First(loaded(13) + 100),
        first: 0,
        hands: [&[Act::Await, Act::Fill], &[]],
    },
    Scene {
        name: "the looker inserts beside what was filled",
        loaded: 12,
        behind: loaded(9),
        own: Own::Later(loaded(3) + 100),
        first: 0,
        hands: [&[Act::Await, Act::Fill], &[]],
    },
];

impl Scene {
    /// Whether nobody does anything before the looker has looked: there is nothing to interrupt.
    pub fn is_in_order(&self) -> bool {
        self.first == 0 && self.hands.iter().all(|hand| matches!(hand.first(), None | Some(Act::Await)))
    }
}

/// A scene, and how far it is.
#[derive(Clone)]
struct Stage {
    scene: Scene,
    look: Look,
    indexing: Indexing,
    looked: Arc<AtomicBool>,
    /// Who began is past the moment.
    passed: Arc<AtomicBool>,
    /// Somebody else acted before that.
    came_between: Arc<AtomicBool>,
    /// Hands that have not ended.
    busy: Arc<AtomicUsize>,
}

impl Stage {
    fn has_byte_strings(&self) -> bool {
        matches!(self.indexing, Indexing::OrderedBytes { .. })
    }

    fn bytes(&self, number: u64) -> Vec<u8> {
        let number = number.to_be_bytes();
        if self.has_byte_strings() { [b"reserve", &number[..], b"tail"].concat() } else { number.to_vec() }
    }

    fn name<X: Transaction + ?Sized>(&self, txn: &mut X, number: u64) -> Key {
        if self.has_byte_strings() { txn.key(T, &self.bytes(number)) } else { Key(number) }
    }

    /// A role has looked, or acted.
    fn pass(&self, role: usize) {
        if role == self.scene.first {
            self.passed.store(true, Ordering::Relaxed);
        } else if !self.passed.load(Ordering::Relaxed) {
            self.came_between.store(true, Ordering::Relaxed);
        }
    }

    fn prefix(&self) -> Key {
        Key::prefix_of(&self.bytes(self.scene.behind))
    }
}

/// Who plays: the looker, or a hand.
struct Player {
    stage: Stage,
    role: usize,
    seat: Seat,
    next: usize,
    complaint: Option<String>,
}

enum Part {
    Look(Look),
    Act(Act),
    Idle,
}

struct Turn {
    stage: Stage,
    part: Part,
    /// A number of the reserve.
    number: u64,
    complaint: RefCell<Option<String>>,
}

impl Turn {
    /// What of the reserve there is, or of one of its keys.
    fn glance<X: Transaction + ?Sized>(&self, txn: &mut X, look: Look) -> Result<Vec<u64>, Abort> {
        let Look::Scan(direction) = look else {
            let key = self.stage.name(txn, self.number);
            return Ok(txn.read_row::<u64, _>(T, key, |row| *row)?.into_iter().collect());
        };
        let behind = self.stage.scene.behind;
        let [from, to] = [behind, behind + WIDTH].map(|number| self.stage.bytes(number));
        let scan = Scan {
            table: T,
            from: Bound::Excluded(&from),
            to: Bound::Included(&to),
            direction,
            limit: usize::MAX,
            span: Span::whole(8),
            within: Some(self.stage.prefix()),
        };
        let mut seen = Vec::new();
        txn.scan(&scan, &mut |_, row| {
            seen.push(u64::from_ne_bytes(row.try_into().expect("eight bytes")));
        })?;
        Ok(seen)
    }

    fn look<X: Transaction + ?Sized>(&self, txn: &mut X, look: Look) -> Result<(), Abort> {
        let first = self.glance(txn, look)?;
        if let Own::First(number) = self.stage.scene.own {
            self.put(txn, number)?;
        }
        self.stage.looked.store(true, Ordering::Relaxed);
        self.stage.pass(0);
        for tick in 0..TICKS {
            if self.stage.busy.load(Ordering::Relaxed) == 0 {
                break;
            }
            // Also where a waiter has to serve others meanwhile.
            let _ = txn.read_row::<u64, _>(CLOCK, Key(tick), |_| ())?;
            cpu::pause();
        }
        if let Own::Later(number) = self.stage.scene.own {
            self.put(txn, number)?;
        }
        let again = self.glance(txn, look)?;
        if again != first {
            *self.complaint.borrow_mut() = Some(format!("{first:?} was there, and then {again:?}"));
        }
        Ok(())
    }

    fn put<X: Transaction + ?Sized>(&self, txn: &mut X, number: u64) -> Result<(), Abort> {
        let key = self.stage.name(txn, number);
        let _ = txn.insert_row(T, key, &number)?;
        Ok(())
    }

    fn act<X: Transaction + ?Sized>(&self, txn: &mut X, act: Act) -> Result<(), Abort> {
        match act {
            Act::Await => {
                let has_looked = |_: &usize| !self.stage.looked.load(Ordering::Relaxed);
                (0..PATIENCE).take_while(has_looked).for_each(|_| cpu::pause());
                Ok(())
            }
            Act::Put(number) => self.put(txn, number),
            Act::Fill => self.put(txn, self.number),
            Act::Take(number) => {
                let key = self.stage.name(txn, number);
                txn.delete(T, key).map(drop)
            }
        }
    }
}

impl Procedure for Turn {
    fn run<X: Transaction + ?Sized>(&self, txn: &mut X) -> Result<Outcome, Abort> {
        *self.complaint.borrow_mut() = None;
        match self.part {
            Part::Look(look) => self.look(txn, look)?,
            Part::Act(act) => self.act(txn, act)?,
            Part::Idle => {}
        }
        Ok(Outcome::Commit)
    }

    fn plan<X: Transaction + ?Sized>(&self, _: &mut X, plan: &mut Plan) -> Result<(), Abort> {
        match self.part {
            Part::Look(_) => {
                plan.declare(T, self.stage.prefix());
                (0..TICKS).for_each(|tick| plan.declare(CLOCK, Key(tick)));
            }
            Part::Act(Act::Await) | Part::Idle => {}
            Part::Act(_) => plan.declare(T, self.stage.prefix()),
        }
        Ok(())
    }
}

impl Player {
    /// What it does in its nth transaction.
    fn part(&self, at: usize) -> Part {
        if self.role == 0 && at == 0 {
            return Part::Look(self.stage.look);
        }
        let act = self.role.checked_sub(1).and_then(|hand| self.stage.scene.hands[hand].get(at));
        act.map_or(Part::Idle, |&act| Part::Act(act))
    }
}

impl Client for Player {
    type Procedure = Turn;

    fn next(&mut self) -> Turn {
        let (part, number) = (self.part(self.next), self.stage.scene.behind + 1 + self.seat.seed % WIDTH);
        self.next += 1;
        Turn { stage: self.stage.clone(), part, number, complaint: RefCell::new(None) }
    }

    fn finished(&mut self, turn: Turn, _: &Completion<'_>) {
        match turn.part {
            Part::Look(_) => self.complaint = turn.complaint.into_inner(),
            Part::Idle | Part::Act(Act::Await) => {}
            Part::Act(_) => {
                self.stage.pass(self.role);
                if self.next == self.stage.scene.hands[self.role - 1].len() {
                    self.stage.busy.fetch_sub(1, Ordering::Relaxed);
                }
            }
        }
    }
}

impl Workload for Stage {
    type Client = Player;

    fn tables(&self) -> Vec<TableDescription> {
        let table = |name, rows, indexing| TableDescription {
            name,
            row_bytes: 8,
            length: RowLength::Fixed,
            kept_bytes: 8,
            rows,
            capacity: rows + 4,
            indexing,
            partition: PartitionFunction::Remainder,
        };
        let leaves = TableDescription {
            partition: PartitionFunction::By(|_, _| PartitionId(0)),
            ..table("leaves", self.scene.loaded, self.indexing)
        };
        vec![leaves, table("clock", TICKS, Indexing::Hashed)]
    }

    fn loaded_key(&self, table: TableId, row: u64) -> Key {
        Key(if table == T { loaded(row) } else { row })
    }

    fn loaded_bytes(&self, _: TableId, key: Key, bytes: &mut Vec<u8>) {
        bytes.extend(self.bytes(key.0));
    }

    fn fill(&self, _: TableId, key: Key, row: &mut [u8]) {
        row.copy_from_slice(&key.0.to_ne_bytes());
    }

    fn client(&self, seat: Seat) -> Player {
        Player {
            stage: self.clone(),
            role: (seat.worker + self.scene.first) % ROLES,
            seat,
            next: 0,
            complaint: None,
        }
    }
}

/// Whether somebody came before who began was past the moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Played {
    CameBetween,
    CameAfter,
}

/// Plays a scene; an error is what was broken.
pub fn play<E: Engine>(
    scene: Scene,
    look: Look,
    selection: Selection,
    indexing: Indexing,
    seed: u64,
    options: &EngineOptions,
) -> Result<Played, String> {
    let stage = Stage {
        scene,
        look,
        indexing,
        looked: Arc::default(),
        passed: Arc::default(),
        came_between: Arc::default(),
        busy: Arc::new(AtomicUsize::new(scene.hands.iter().filter(|hand| !hand.is_empty()).count())),
    };
    let clients_of = |workers| E::arrange(selection, workers, options).map(|arranged| arranged.clients);
    let workers = (ROLES..).find(|&workers| clients_of(workers) == Ok(ROLES)).expect("some number fits");
    let Arrangement { layout, clients, .. } = E::arrange(selection, workers, options).expect("it fits");
    let mut store = E::load(&stage, layout, &|_| ()).map_err(|error| error.to_string())?;
    let seat = |worker| Seat::new(worker, clients, seed).over(layout.partitions);
    let players = (0..clients).map(|worker| stage.client(seat(worker))).collect();
    let until = Until::Transactions(ACTS);
    let mut run = E::run_checked(&mut store, selection, players, until, options).expect("plans are right");
    if let Some(complaint) = run.clients.iter_mut().find_map(|player| player.complaint.take()) {
        return Err(complaint);
    }
    let leaks = E::leak_check(&store);
    if leaks.held != 0 || leaks.linked_records != leaks.allocated_records {
        return Err(format!("left behind: {leaks:?}"));
    }
    let came_between = stage.came_between.load(Ordering::Relaxed);
    Ok(if came_between { Played::CameBetween } else { Played::CameAfter })
}
