//! Crash points, recovered and judged.

use super::Crashed;
use super::nodes::is_of;
use super::run::{Run, folders, readers};
use contract::{Engine, LogError, Recovered, RecoveryOptions, Until, Workload};
use history::churn::{Churn, ChurnClient};
use history::{Checked, FinalRead, History, Setting, Verdict};
use machine::simulated::disk::{Disk, Flipped};
use std::path::Path;
use std::time::Duration;

/// A workload whose clients tell what must be there.
pub(super) trait Told<E: Engine>: Workload {
    /// What they tell.
    type Told;

    /// What is wrong with a store in which everything must be that committed in epoch `last` or before, and nothing else.
    fn wrong(
        &self,
        told: &Self::Told,
        last: u64,
        store: &mut E::Store,
        setting: &Setting,
    ) -> Result<(), String>;
}

impl<E: Engine, W: Workload> Told<E> for Checked<W> {
    type Told = History;

    fn wrong(
        &self,
        told: &History,
        last: u64,
        store: &mut E::Store,
        setting: &Setting,
    ) -> Result<(), String> {
        let mut history = told.up_to_epoch(last);
        let read = FinalRead::of_stamps(self, told);
        history.finals = read.versions(setting.read_back::<E>(store, &read));
        // Without the time that it took: a find that is replayed is the same.
        let verdict = Verdict { elapsed: Duration::ZERO, ..history::check(&history) };
        if !verdict.holds(setting.selection.is_strict(setting.options.timestamps)) {
            return Err(format!("what was recovered is no prefix of the serial order:\n{verdict}"));
        }
        let loaded: u64 = self.tables().iter().map(|table| table.rows).sum();
        let rows = loaded as i64 + history.rows_added();
        let linked = E::leak_check(store).linked_records;
        if linked as i64 != rows {
            return Err(format!("{linked} records are linked, and there are {rows} rows"));
        }
        Ok(())
    }
}

impl<E: Engine> Told<E> for Churn {
    type Told = Vec<ChurnClient>;

    fn wrong(
        &self,
        told: &Vec<ChurnClient>,
        last: u64,
        store: &mut E::Store,
        setting: &Setting,
    ) -> Result<(), String> {
        let (expected, _) = self.expected(told, last);
        let arrangement = setting.arrangement::<E>();
        let clients = readers(&self.reader(), arrangement.clients, arrangement.layout.partitions);
        let setting = Setting { until: Until::Transactions(1), ..setting.clone() };
        let read = setting.run::<E, _>(store, clients).expect("a reader declares what it reads").clients;
        let found = &read[0].rows;
        let leaks = E::leak_check(store);
        if leaks.linked_records != expected.len() as u64 {
            return Err(format!(
                "{} records are linked, and there are {} rows",
                leaks.linked_records,
                expected.len()
            ));
        }
        if leaks.allocated_values != leaks.linked_values {
            return Err(format!(
                "{} values are kept, and {} linked",
                leaks.allocated_values, leaks.linked_values
            ));
        }
        for place in expected.keys().chain(found.keys()) {
            let (expected, found) = (expected.get(place), found.get(place));
            if expected != found {
                let (table, key) = place;
                return Err(format!("key {key} of table {table} has {found:?}; it should have {expected:?}"));
            }
        }
        Ok(())
    }
}

/// A disk as it may be found again.
#[derive(Clone, Copy)]
enum Image {
    Crash,
    /// Of the machine of one node.
    Node(usize),
    Process,
    Flipped,
}

/// One point of a run's journal.
pub(super) struct Judge<'r, 'a> {
    pub run: &'r mut Run<'a>,
    pub point: usize,
}

type Wrong = (String, String);

impl Judge<'_, '_> {
    /// Judges the disk as it may be after a crash here, as it is if the process ends here, and with a flipped bit.
    pub fn point<E: Engine, T: Told<E>>(
        mut self,
        workload: &T,
        told: &T::Told,
        crashed: &mut Crashed,
    ) -> Result<(), Wrong> {
        let acknowledged = self.run.disk.acknowledged_before(self.point);
        let is_last = self.point == self.run.disk.operations();
        let node = self.run.killed_node().filter(|_| is_last);
        let images = [Image::Crash, Image::Process, Image::Flipped].into_iter().chain(node.map(Image::Node));
        for image in images {
            let disk = match image {
                Image::Crash => self.run.disk.after_crash(self.point, &mut self.run.random),
                Image::Node(node) => {
                    let is_its = |folder: &Path| is_of(node, folder);
                    self.run.disk.after_crash_of(self.point, &mut self.run.random, is_its)
                }
                Image::Process | Image::Flipped => self.run.disk.after(self.point),
            };
            let name = match image {
                Image::Crash => "a crash",
                Image::Node(_) => "a crash of the node that was killed",
                Image::Process => "a process crash",
                Image::Flipped => "a flipped bit",
            };
            let at = format!("{name} at operation {} of {}", self.point, self.run.disk.operations());
            let flipped = match image {
                Image::Flipped => match disk.flip(&mut self.run.random) {
                    Some(flipped) => Some(flipped),
                    None => continue,
                },
                Image::Crash | Image::Node(_) | Image::Process => None,
            };
            let at = match &flipped {
                Some(Flipped { path, byte, .. }) => format!("{at}, byte {byte} of {}", path.display()),
                None => at,
            };
            crashed.points += 1;
            crashed.with_acknowledged += u64::from(acknowledged > 0);
            // What was not synced is not promised to survive a crash, whatever somebody was told; and a bit of which nobody knows that it
            // had been synced may be one that a crash has torn.
            let promised = match image {
                Image::Crash | Image::Node(_) if !self.run.plan.durability.syncs() => 0,
                Image::Flipped if !flipped.as_ref().is_some_and(|flipped| flipped.is_known) => 0,
                Image::Crash | Image::Node(_) | Image::Process | Image::Flipped => acknowledged,
            };
            let recovered = self.recover::<E, T>(&disk, workload, told, promised);
            match recovered {
                Ok(recovered) => {
                    crashed.with_left_out += u64::from(recovered.left_out > 0);
                    crashed.with_checkpoint += u64::from(recovered.checkpoint.is_some());
                    crashed.flips_harmless += u64::from(flipped.is_some());
                }
                Err(Failed::Refused(_)) if flipped.is_some() => crashed.flips_noticed += 1,
                Err(Failed::Refused(why) | Failed::Wrong(why)) => return Err((at, why)),
            }
            if flipped.is_none() {
                let survives = if self.run.plan.durability.syncs() { promised } else { 0 };
                self.reopened::<E, T>(&disk, workload, told, survives)
                    .map_err(|why| (format!("{at}, reopened"), why))?;
            }
        }
        Ok(())
    }

    /// Recovers, and says what is wrong with what is there.
    fn recover<E: Engine, T: Told<E>>(
        &self,
        disk: &Disk,
        workload: &T,
        told: &T::Told,
        promised: u64,
    ) -> Result<Recovered, Failed> {
        let setting = self.run.setting::<E>();
        let options =
            RecoveryOptions { threads: 2, canary: self.run.scenario.canary, ..RecoveryOptions::default() };
        let folders = folders(self.run.plan.loggers);
        let (mut store, recovered) = match disk.on(|| setting.recover::<E, _>(workload, &folders, &options)) {
            Ok(recovered) => recovered,
            // Before the log was opened nobody was told of anything.
            Err(LogError::Nothing { .. }) if promised == 0 => {
                (setting.load::<E, _>(workload, &|_| ()).expect("tiny tables"), Recovered::default())
            }
            Err(error) => return Err(Failed::Refused(error.to_string())),
        };
        // Of epochs that were acknowledged and in which nothing was written, nothing need be there.
        let last = recovered.epoch.max(promised);
        let wrong = |why| {
            let epoch = recovered.epoch;
            Failed::Wrong(format!("epoch {epoch} was recovered, and {promised} acknowledged: {why}"))
        };
        workload.wrong(told, last, &mut store, &setting).map_err(wrong)?;
        let held = E::leak_check(&store).held;
        if held > 0 {
            return Err(Failed::Wrong(format!("{held} records and gaps are held")));
        }
        Ok(recovered)
    }

    /// Recovers the log and opens it again; the machine crashes meanwhile, or just after. What it was opened with is there again, if the
    /// opening had ended; `promised`, in any case; and it can be opened once more.
    fn reopened<E: Engine, T: Told<E>>(
        &mut self,
        disk: &Disk,
        workload: &T,
        told: &T::Told,
        promised: u64,
    ) -> Result<(), String> {
        let begun = disk.operations();
        let Some(first) = self.opened::<E, T>(disk, workload)? else { return Ok(()) };
        let ended = disk.operations();
        // One in four, so that what had only been recovered, and not made durable, is missed.
        let crashed = if self.run.random.u8(..4) == 0 { ended } else { self.run.random.usize(begun..=ended) };
        let again = disk.after_crash(crashed, &mut self.run.random);
        let at = |why: String| format!("after a crash at operation {crashed} of {begun} to {ended}: {why}");
        let promised = if crashed == ended { first } else { promised };
        match self.recover::<E, T>(&again, workload, told, promised) {
            Ok(second) if second.epoch <= first && (crashed < ended || second.epoch == first) => {}
            Ok(second) => {
                let second = second.epoch;
                return Err(at(format!("epoch {first} was recovered first, and {second} then")));
            }
            Err(Failed::Refused(why) | Failed::Wrong(why)) => return Err(at(why)),
        }
        self.opened::<E, T>(&again, workload).map(drop).map_err(at)
    }

    /// Recovers the log and opens it; up to which epoch. `None`: there is none.
    fn opened<E: Engine, T: Told<E>>(&self, disk: &Disk, workload: &T) -> Result<Option<u64>, String> {
        let setting = self.run.setting::<E>();
        let options =
            RecoveryOptions { threads: 1, canary: self.run.scenario.canary, ..RecoveryOptions::default() };
        let (log, folders) = (self.run.log(), folders(self.run.plan.loggers));
        disk.on(|| {
            let (mut store, epoch) = match setting.recover::<E, _>(workload, &folders, &options) {
                Ok((store, recovered)) => (store, Some(recovered.epoch)),
                // A new one is begun over what an opening that was cut off has left.
                Err(LogError::Nothing { .. }) => {
                    (setting.load::<E, _>(workload, &|_| ()).expect("tiny tables"), None)
                }
                Err(error) => return Err(error.to_string()),
            };
            E::open_log(&mut store, &log).map_err(|error| error.to_string())?;
            Ok(epoch)
        })
    }
}

enum Failed {
    /// The log was refused.
    Refused(String),
    /// It was recovered, and is not what it should be.
    Wrong(String),
}
