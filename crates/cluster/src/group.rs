//! What a node knows of the others, and the exchange by which all come to know the same.
//!
//! *Clocks.* Nodes of one host have one clock, and take one rate for it. What those of other hosts are like, the first node finds out before a checked run and after it, by asking one node of each
//! ([`Control::look_at_clock`]); so times can be compared as far as that goes ([`contract::clocks`]).
//!
//! There is one group of a process, because an [`contract::Engine`] has no value: it is [set](Group::set) before the command begins.

use crate::control::{Control, Purpose, words};
use crate::fabric::Fabric;
use crate::mesh::{Mesh, socket_of};
use contract::telling::{tell, told};
use contract::{ChannelName, Clocks, Lost, Seen, Sighting};
use engine::Part;
use machine::hardware::clock;
use serde::{Deserialize, Serialize};
use std::net::IpAddr;
use std::process::{Child, ExitStatus};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};
use std::{fs, io, thread};

static GROUP: OnceLock<Group> = OnceLock::new();

/// See the module.
pub struct Group {
    /// This node's number: the instance that it has.
    number: usize,
    /// By node, its host's number.
    hosts: Vec<usize>,
    cores: usize,
    run: String,
    /// Of the first node, by node, to all others; of another, to the first.
    controls: Vec<Option<Control>>,
    /// Those that were started here, by node.
    children: Mutex<Vec<Option<Child>>>,
    lost: OnceLock<Lost>,
    /// Whether all have come to the end: whose connection ends now is not lost.
    is_over: AtomicBool,
    fabric: Option<&'static dyn Fabric>,
    mesh: Mesh,
}

/// What of itself a group is made with.
pub struct Founding {
    /// The node's number.
    pub number: usize,
    /// By node, the number of its host, from 0, the first one's.
    pub hosts: Vec<usize>,
    /// Cores of the first node's host: what `--workers` is by default.
    pub cores: usize,
    /// The run's name, which no other run has.
    pub run: String,
    /// Those that were started here, by node.
    pub children: Vec<Option<Child>>,
    /// Where this node can be reached by the others.
    pub address: IpAddr,
    /// What the connections of workers are made with.
    pub credentials: crate::handshake::Credentials,
    /// What has started the processes, if it was not the first one.
    pub fabric: Option<&'static dyn Fabric>,
}

/// Where a node is among those of its host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlaceOnHost {
    /// How many of them are before it.
    pub rank: usize,
    /// How many there are.
    pub of: usize,
}

/// What a node says in an exchange.
#[derive(Serialize, Deserialize)]
struct Said {
    what: String,
    bytes: Vec<u8>,
}

/// What a node says in place of what it is waited for at: it has failed.
const FAILED: &str = "a failure";

/// How long a child that is lost may take to have ended, to be asked how it did.
const LAST_BREATH: Duration = Duration::from_millis(500);

impl Group {
    /// Makes the group of this process. `connect` makes its connections; what they hear goes to `heard`.
    pub fn set(
        founding: Founding,
        connect: impl FnOnce() -> io::Result<Vec<Option<Control>>>,
    ) -> io::Result<&'static Group> {
        let Founding { number, hosts, cores, run, children, address, credentials, fabric } = founding;
        let mesh = Mesh::new(number, hosts.len(), address, credentials, fabric);
        let controls = connect()?;
        let children = Mutex::new(children);
        let lost = OnceLock::new();
        let is_over = AtomicBool::new(false);
        let group = Group { number, hosts, cores, run, controls, children, lost, is_over, fabric, mesh };
        let group = GROUP.get_or_init(|| group);
        group.share_rates().map_err(|lost| io::Error::other(lost.to_string()))?;
        Ok(group)
    }

    /// The group of this process, if it is a node.
    pub fn get() -> Option<&'static Group> {
        GROUP.get()
    }

    /// This node's number, from 0: that of its instance.
    pub fn number(&self) -> usize {
        self.number
    }

    /// How many nodes there are.
    pub fn nodes(&self) -> usize {
        self.hosts.len()
    }

    /// Whether this node tells the person who started the run what comes of it.
    pub fn is_first(&self) -> bool {
        self.number == 0
    }

    /// The run's name, which no other run has.
    pub fn run(&self) -> &str {
        &self.run
    }

    /// Cores of the first node's host.
    pub fn cores(&self) -> usize {
        self.cores
    }

    /// Whether something else than the first node has started the others, over which they can talk ([`crate::fabric`]).
    pub fn has_fabric(&self) -> bool {
        self.fabric.is_some()
    }

    /// On how many hosts the nodes are.
    pub fn host_count(&self) -> usize {
        // They are numbered without gaps.
        1 + self.hosts.iter().max().map_or(0, |last| *last)
    }

    /// Whether what goes over TCP is encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.mesh.is_encrypted()
    }

    /// Whether all nodes are on one host, whose clock is theirs.
    pub fn is_one_host(&self) -> bool {
        self.hosts.iter().all(|host| *host == 0)
    }

    /// Where this node is among those of its host.
    pub fn place_on_host(&self) -> PlaceOnHost {
        let is_there = |host: &&usize| **host == self.hosts[self.number];
        PlaceOnHost {
            rank: self.hosts[..self.number].iter().filter(is_there).count(),
            of: self.hosts.iter().filter(is_there).count(),
        }
    }

    /// The first node of a host.
    fn first_of(&self, host: usize) -> usize {
        self.hosts.iter().position(|other| *other == host).expect("a host has a node")
    }

    /// Has the nodes of each host take the same rate for its clock, so that they tell the same times. Those of the first one's host have been told it.
    fn share_rates(&self) -> Result<(), Lost> {
        if self.is_one_host() {
            return Ok(());
        }
        let first = self.first_of(self.hosts[self.number]);
        let own = (first == self.number).then(clock::ticks_per_second);
        let mut bytes = Vec::new();
        tell(&own, &mut bytes);
        let all = self.exchange("the rates of the clocks", bytes)?;
        if own.is_none() {
            let no_rate = || Lost::new(first, "it has told no rate of its clock");
            clock::share_rate(told::<Option<f64>>(&all[first]).flatten().ok_or_else(no_rate)?);
        }
        Ok(())
    }

    /// What the clock of each host but the first one's is at now. All nodes call this at the same time.
    pub(crate) fn look_at_clocks(&self) -> Result<Vec<Sighting>, Lost> {
        if self.is_one_host() {
            return Ok(Vec::new());
        }
        let hosts = self.hosts.iter().max().map_or(0, |last| *last);
        let look = |host: usize| {
            let node = self.first_of(host);
            let lost = || self.lost().cloned().unwrap_or(Lost::new(node, "its process has ended"));
            self.controls[node].as_ref().and_then(Control::look_at_clock).ok_or_else(lost)
        };
        let mut bytes = Vec::new();
        if self.is_first() {
            tell(&(1..=hosts).map(look).collect::<Result<Vec<_>, _>>()?, &mut bytes);
        }
        let seen = self.from_first("what the clocks are at", bytes)?;
        told(&seen).ok_or_else(|| Lost::new(0, "what it said is no message"))
    }

    /// By which clocks the times of clients are, so many at each node, in a run before and after which the clocks were at this.
    pub(crate) fn clocks(&self, before: Vec<Sighting>, after: Vec<Sighting>, clients_each: usize) -> Clocks {
        let of_clients = self.hosts.iter().flat_map(|host| vec![*host; clients_each]).collect();
        let others = before.into_iter().zip(after).map(|(before, after)| Seen { before, after });
        Clocks::new(of_clients, others.collect())
    }

    /// What this node's engine is given for a run of so many workers. All nodes call this at the same time.
    pub(crate) fn part(&self, channel: ChannelName, workers: usize) -> Result<Part, Lost> {
        self.mesh.part(self, channel, workers)
    }

    /// The node that was lost first, if one was.
    pub fn lost(&self) -> Option<&Lost> {
        self.lost.get()
    }

    /// Gives every node what all of them have said, in their order. All call this at the same place of their way, `what`; an error: a node is lost, or has gone another way.
    pub fn exchange(&self, what: &str, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
        if let Some(lost) = self.lost() {
            return Err(lost.clone());
        }
        let exchanged = match self.number {
            0 => self.gather(what, own),
            _ => self.contribute(what, own),
        };
        exchanged.map_err(|lost| {
            self.lose(lost.clone());
            self.lost().cloned().unwrap_or(lost)
        })
    }

    fn gather(&self, what: &str, own: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
        let mut all = vec![own];
        for (instance, control) in self.others() {
            let lost = |why: String| self.lost().cloned().unwrap_or(Lost::new(instance, why));
            let bytes = control.receive().ok_or_else(|| lost("its process has ended".to_owned()))?;
            let said: Said = told(&bytes).ok_or_else(|| lost("what it said is no message".to_owned()))?;
            if said.what == FAILED {
                return Err(lost(format!("it has failed: {}", String::from_utf8_lossy(&said.bytes))));
            }
            if said.what != what {
                return Err(lost(format!("it is at '{}' where others are at '{what}'", said.what)));
            }
            all.push(said.bytes);
        }
        let mut bytes = Vec::new();
        tell(&all, &mut bytes);
        for (instance, control) in self.others() {
            let lost = |error: io::Error| Lost::new(instance, words(&error));
            control.send(Purpose::Message, &bytes).map_err(lost)?;
        }
        Ok(all)
    }

    fn contribute(&self, what: &str, bytes: Vec<u8>) -> Result<Vec<Vec<u8>>, Lost> {
        let (_, first) = self.others().next().expect("a node has a connection to the first");
        let lost = |why: String| self.lost().cloned().unwrap_or(Lost::new(0, why));
        let mut said = Vec::new();
        tell(&Said { what: what.to_owned(), bytes }, &mut said);
        first.send(Purpose::Message, &said).map_err(|error| lost(words(&error)))?;
        let all = first.receive().ok_or_else(|| lost("its process has ended".to_owned()))?;
        told(&all).ok_or_else(|| lost("what it said is no message".to_owned()))
    }

    fn others(&self) -> impl Iterator<Item = (usize, &Control)> {
        self.controls.iter().enumerate().filter_map(|(node, control)| Some((node, control.as_ref()?)))
    }

    /// What the first node says.
    pub fn from_first(&self, what: &str, own: Vec<u8>) -> Result<Vec<u8>, Lost> {
        Ok(self.exchange(what, own)?.swap_remove(0))
    }

    /// This node has failed: the first one learns why in place of what it waits for.
    pub fn fail(&self, why: &str) {
        // Nobody answers.
        let _ = self.exchange(FAILED, why.as_bytes().to_vec());
    }

    /// This node cannot go on, and nobody waits for it here: all others are told. What has ended the run: this, unless another was lost before.
    pub(crate) fn fails(&self, lost: Lost) -> Lost {
        if !self.is_first() && self.lost().is_none() {
            let mut bytes = Vec::new();
            tell(&lost, &mut bytes);
            // The first one, which tells the others. It may be lost, too.
            self.others().for_each(|(_, first)| drop(first.send(Purpose::Lost, &bytes)));
        }
        self.lose(lost.clone());
        self.lost().cloned().unwrap_or(lost)
    }

    /// A node is lost: nobody waits for it any more.
    fn lose(&self, lost: Lost) {
        let instance = lost.instance;
        if self.lost.set(lost.clone()).is_err() {
            return;
        }
        if self.is_first() {
            let mut bytes = Vec::new();
            tell(&lost, &mut bytes);
            for (_, control) in self.others().filter(|(node, _)| *node != instance) {
                // It may be lost, too.
                let _ = control.send(Purpose::Lost, &bytes);
            }
        }
        self.mesh.shut_down(instance);
    }

    /// How a child has ended, if it is one and has.
    fn end_of_child(&self, instance: usize) -> Option<ExitStatus> {
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        let child = children.get_mut(instance)?.as_mut()?;
        let since = Instant::now();
        while since.elapsed() < LAST_BREATH {
            if let Ok(Some(status)) = child.try_wait() {
                return Some(status);
            }
            thread::sleep(Duration::from_millis(10));
        }
        None
    }

    /// Ends the nodes that were started here, at once. None of them is lost by that.
    pub fn end_children(&self) {
        self.ends();
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        for (node, child) in children.iter_mut().enumerate() {
            let Some(child) = child else { continue };
            // It may have ended.
            let _ = child.kill();
            let _ = child.wait();
            forget_socket(node, child);
        }
    }

    /// All have come to the end: ends the connections of a node that is not the first, which nobody misses.
    pub fn leave(&self) {
        self.ends();
        self.others().for_each(|(_, control)| control.shut_down());
    }

    /// From now on whose connection ends is not lost.
    fn ends(&self) {
        // Relaxed, here and below: it orders nothing.
        self.is_over.store(true, Ordering::Relaxed);
    }

    /// Whether all have come to the end.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over.load(Ordering::Relaxed)
    }

    /// Their processes.
    pub fn children(&self) -> Vec<u32> {
        let children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        children.iter().flatten().map(Child::id).collect()
    }

    /// Waits until the other nodes have ended, which they do by themselves if they were `told` to, or have been ended.
    pub fn await_others(&self, told: bool) {
        if told {
            self.ends();
        }
        for (_, control) in self.others() {
            if told {
                control.await_end(4 * LAST_BREATH);
            }
            control.shut_down();
        }
        let mut children = self.children.lock().unwrap_or_else(PoisonError::into_inner);
        let since = Instant::now();
        for (node, child) in children.iter_mut().enumerate() {
            let Some(child) = child else { continue };
            while matches!(child.try_wait(), Ok(None)) {
                if since.elapsed() > 4 * LAST_BREATH {
                    // What it does is of no use to anybody.
                    let _ = child.kill();
                }
                thread::sleep(Duration::from_millis(1));
            }
            forget_socket(node, child);
        }
    }
}

/// Removes where a node that has ended was connected to, in case it had no time to.
fn forget_socket(node: usize, child: &Child) {
    // Most have.
    let _ = fs::remove_file(socket_of(child.id(), node));
}

/// What a connection to node `instance` heard that nobody waited for.
pub(crate) fn heard(instance: usize, what: Result<Vec<u8>, io::Error>) {
    let Some(group) = Group::get().filter(|group| !group.is_over()) else { return };
    match what {
        Ok(bytes) => {
            let lost = told(&bytes).unwrap_or(Lost::new(instance, "what it said is no message"));
            group.lose(lost);
        }
        Err(error) => {
            let why = match group.end_of_child(instance) {
                Some(status) => format!("its process has ended ({status})"),
                None => words(&error),
            };
            group.lose(Lost::new(instance, why));
        }
    }
}
