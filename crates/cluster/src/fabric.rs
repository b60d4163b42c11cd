//! What else may lead from a worker to its counterparts: a network that has started the processes itself, knows how many there are, and lets them talk, such as MPI. It is
//! implemented elsewhere, and handed to the group.
//!
//! By it the processes find each other: over TCP, on which they then agree on what comes next as nodes that the first one has started do ([`crate::control`]). A connection's end tells that a
//! process has died, which MPI does not. The first says where it waits, and a secret of this run, to all.

use crate::assignment::{SECRET_BYTES, host};
use crate::control::SILENCE;
use crate::handshake::{Credentials, End, random, shake};
use crate::pending::Pending;
use crate::secret::Secret;
use crate::stream::{Stream, Until};
use contract::telling::{tell, told};
use engine::Link;
use rustix::system::uname;
use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream, ToSocketAddrs};
use std::thread;
use std::time::{Duration, Instant};

/// For all to have connected to the first, and for one of them to be greeted.
const PATIENCE: Duration = Duration::from_secs(20);
/// For whoever has connected to the first to say who it is.
const PATIENCE_WITH_STRANGERS: Duration = Duration::from_secs(5);
/// From finding that nobody has connected to looking again.
const LOOK_AGAIN: Duration = Duration::from_millis(1);

/// See the module.
pub trait Fabric: Send + Sync {
    /// This process's number, from 0.
    fn number(&self) -> usize;

    /// How many processes there are.
    fn nodes(&self) -> usize;

    /// What all have said, in their order. All call it at the same place of their way.
    fn exchange(&self, own: &[u8]) -> io::Result<Vec<Vec<u8>>>;

    /// An end of what leads from the worker of this rank to its counterpart at another node. Nobody is waited for. To be called once for each.
    fn connect(&'static self, rank: usize, node: usize) -> io::Result<Box<dyn Wire>>;
}

/// An end of what leads from a worker to a counterpart, and is kept between a run and the next.
pub trait Wire: Send + Sync {
    /// For a run; those of earlier ones have been dropped.
    fn link(&self) -> Link;

    /// Ends it at both ends.
    fn shut_down(&self);
}

/// What a process says of itself.
#[derive(PartialEq, Serialize, Deserialize)]
struct Seat {
    host: String,
    /// The cores that it may run on, as the system writes them.
    cores: String,
    /// Version and build.
    program: String,
}

/// Where the first waits.
#[derive(Serialize, Deserialize)]
struct Place {
    name: String,
    port: u16,
    secret: Secret,
}

/// The first process's: where the others connect.
pub struct Meeting {
    fabric: &'static dyn Fabric,
    listener: TcpListener,
    credentials: Credentials,
}

fn own_cores() -> String {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let cores = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    cores.unwrap_or_default().trim().to_owned()
}

fn exchange<T: Serialize + for<'d> Deserialize<'d>>(fabric: &dyn Fabric, own: &T) -> io::Result<Vec<T>> {
    let mut bytes = Vec::new();
    tell(own, &mut bytes);
    let all = fabric.exchange(&bytes)?;
    let all = all.iter().map(|bytes| told(bytes)).collect::<Option<Vec<T>>>();
    all.ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "what a process said is no message"))
}

/// Whether all are on one host. Refuses processes of several builds, and those of a host that are bound to different cores: which core a worker has is said by `--bind`, alike at all of them.
fn seated(seats: &[Seat]) -> Result<bool, String> {
    for seat in seats {
        if let Some(other) = seats.iter().find(|other| other.host == seat.host && other.cores != seat.cores) {
            return Err(format!(
                "its processes are bound to cores, some to {} and some to {}, and workers are bound by --bind; allowed: mpirun --bind-to none",
                seat.cores, other.cores
            ));
        }
    }
    if let Some(other) = seats.iter().find(|other| other.program != seats[0].program) {
        return Err(format!("they are of several builds: {} and {}", seats[0].program, other.program));
    }
    Ok(seats.iter().all(|seat| seat.host == seats[0].host))
}

/// What a process has come to at the meeting.
pub(crate) enum Met {
    /// The first, which is connected to once it wants that.
    First(Meeting),
    /// Another one: its connection to the first, and the credentials of both. It has not said who it is yet.
    Other(Stream, Credentials),
}

/// All processes of a fabric call this at the same time. An error in words.
pub(crate) fn meet(fabric: &'static dyn Fabric, program: &str) -> Result<Met, String> {
    let failed = |error: io::Error| error.to_string();
    let seat = Seat { host: host(), cores: own_cores(), program: program.to_owned() };
    let is_one_host = seated(&exchange(fabric, &seat).map_err(failed)?)?;
    let credentials = |secret: Secret| Credentials { program: program.to_owned(), secret, tls: None };
    if fabric.number() > 0 {
        let place = exchange::<Option<Place>>(fabric, &None).map_err(failed)?.swap_remove(0);
        let Place { name, port, secret } = place.ok_or("the first process cannot be connected to")?;
        let stream = connect(&name, port).map_err(|error| {
            // The first knows only that nobody comes.
            let why = format!("process {} cannot connect to {name}, port {port}: {error}", fabric.number());
            eprintln!("trireme: {why}");
            why
        })?;
        return Ok(Met::Other(Stream::Tcp(stream), credentials(secret)));
    }
    let (at, name) = match is_one_host {
        true => (Ipv4Addr::LOCALHOST, Ipv4Addr::LOCALHOST.to_string()),
        false => (Ipv4Addr::UNSPECIFIED, uname().nodename().to_string_lossy().into_owned()),
    };
    let secret = Secret::from(&random::<SECRET_BYTES>()[..]);
    let listener = TcpListener::bind((at, 0)).and_then(|listener| {
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    let address = listener.as_ref().ok().and_then(|listener| listener.local_addr().ok());
    let place = address.map(|address| Place { name, port: address.port(), secret: secret.clone() });
    // Who cannot be connected to says so, for the others would wait.
    exchange(fabric, &place).map_err(failed)?;
    Ok(Met::First(Meeting { fabric, listener: listener.map_err(failed)?, credentials: credentials(secret) }))
}

fn connect(name: &str, port: u16) -> io::Result<TcpStream> {
    let mut last = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in (name, port).to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, PATIENCE) {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Says to the first which process this is.
pub(crate) fn greet(fabric: &dyn Fabric, stream: Stream, credentials: &Credentials) -> io::Result<Stream> {
    let shaken = shake(stream, End::Connects, credentials, PATIENCE);
    let mut stream = shaken.map_err(|refusal| io::Error::other(refusal.to_string()))?;
    stream.keep_alive(SILENCE)?;
    stream.write_all(&(fabric.number() as u32).to_le_bytes())?;
    Ok(stream)
}

impl Meeting {
    /// How many processes there are.
    pub fn nodes(&self) -> usize {
        self.fabric.nodes()
    }

    /// What leads to it.
    pub(crate) fn fabric(&self) -> &'static dyn Fabric {
        self.fabric
    }

    /// What the processes know of each other.
    pub(crate) fn credentials(&self) -> &Credentials {
        &self.credentials
    }

    /// Waits until all others have said who they are; their connections, from process 1 on. In words, if one has not. Who is none of them is hung up on, with a line in the log.
    pub(crate) fn streams(&self) -> Result<Vec<Stream>, String> {
        let others = self.fabric.nodes() - 1;
        let mut streams: Vec<Option<Stream>> = std::iter::repeat_with(|| None).take(others).collect();
        let (began, pending) = (Instant::now(), Pending::new());
        let closed = |why: io::Error| eprintln!("trireme: a connection is closed: {why}");
        while let Some(missing) = streams.iter().position(Option::is_none) {
            if began.elapsed() > PATIENCE {
                return Err(format!("process {} has not connected", missing + 1));
            }
            match pending.told() {
                Some(Ok((stream, number))) => match streams.get_mut(usize::wrapping_sub(number, 1)) {
                    Some(place @ None) => *place = Some(stream),
                    _ => return Err(format!("there are two processes of number {number}")),
                },
                Some(Err(why)) => closed(why),
                // Those who come beside wait until there is room: they may be processes of the run.
                None => match pending.enter().map(|stranger| (self.listener.accept(), stranger)) {
                    Some((Ok((stream, _)), stranger)) => {
                        let credentials = self.credentials.clone();
                        pending.ask(stranger, move || who_is(stream, &credentials)).unwrap_or_else(closed);
                    }
                    Some((Err(error), _)) if error.kind() != io::ErrorKind::WouldBlock => closed(error),
                    Some(_) | None => thread::sleep(LOOK_AGAIN),
                },
            }
        }
        Ok(streams.into_iter().flatten().collect())
    }

    /// Tells all others that they are not needed, by hanging up on each. Who has not come by then finds nobody, and says so.
    pub fn dismiss(self) {
        let (others, began) = (self.fabric.nodes() - 1, Instant::now());
        let mut dismissed = 0;
        while dismissed < others && began.elapsed() < PATIENCE {
            match self.listener.accept() {
                Ok(_) => dismissed += 1,
                Err(_) => thread::sleep(LOOK_AGAIN),
            }
        }
    }
}

/// Who has connected: the process of this number.
fn who_is(stream: TcpStream, credentials: &Credentials) -> io::Result<(Stream, usize)> {
    stream.set_nonblocking(false)?;
    let shaken = shake(Stream::Tcp(stream), End::Accepts, credentials, PATIENCE_WITH_STRANGERS);
    let mut stream = shaken.map_err(|refusal| io::Error::other(refusal.to_string()))?;
    stream.keep_alive(SILENCE)?;
    let mut number = [0; 4];
    Until::after(&mut stream, PATIENCE_WITH_STRANGERS).read_exact(&mut number)?;
    Ok((stream, u32::from_le_bytes(number) as usize))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::{Barrier, Mutex};

    fn seat(host: &str, cores: &str) -> Seat {
        Seat { host: host.to_owned(), cores: cores.to_owned(), program: "trireme".to_owned() }
    }

    #[test]
    fn processes_of_a_host_may_run_on_the_same_cores() {
        assert_eq!(seated(&[seat("a", "0-3"), seat("a", "0-3")]), Ok(true));
        assert_eq!(seated(&[seat("a", "0-3"), seat("b", "0-7")]), Ok(false));
        let refused = seated(&[seat("a", "0"), seat("b", "0"), seat("a", "1")]).expect_err("bound apart");
        assert!(refused.contains("some to 0 and some to 1") && refused.contains("--bind-to none"));
    }

    /// Processes that are threads, each with its number.
    struct Threads {
        number: usize,
        said: &'static Mutex<[Vec<u8>; 2]>,
        all_are_there: &'static Barrier,
        /// From hearing what all have said to going on.
        pause: Duration,
    }

    impl Fabric for Threads {
        fn number(&self) -> usize {
            self.number
        }

        fn nodes(&self) -> usize {
            2
        }

        fn exchange(&self, own: &[u8]) -> io::Result<Vec<Vec<u8>>> {
            self.said.lock().expect("no panic")[self.number] = own.to_vec();
            self.all_are_there.wait();
            let said = self.said.lock().expect("no panic").to_vec();
            self.all_are_there.wait();
            thread::sleep(self.pause);
            Ok(said)
        }

        fn connect(&'static self, _rank: usize, _node: usize) -> io::Result<Box<dyn Wire>> {
            unreachable!("nobody runs anything")
        }
    }

    /// What the first does with its meeting, and what the other one's greeting comes to, which pauses before it connects.
    fn met<T>(pause: Duration, first: impl FnOnce(Meeting) -> T) -> (T, io::Result<Stream>) {
        let said = Box::leak(Box::default());
        let all_are_there = Box::leak(Box::new(Barrier::new(2)));
        let [one, other] = [(0, Duration::ZERO), (1, pause)]
            .map(|(number, pause)| &*Box::leak(Box::new(Threads { number, said, all_are_there, pause })));
        let other = thread::spawn(|| match meet(other, "trireme") {
            Ok(Met::Other(stream, credentials)) => greet(other, stream, &credentials),
            Ok(Met::First(_)) => panic!("it is not the first"),
            Err(why) => panic!("it has met nobody: {why}"),
        });
        let Ok(Met::First(meeting)) = meet(one, "trireme") else { panic!("it is the first") };
        (first(meeting), other.join().expect("no panic"))
    }

    #[test]
    fn who_is_not_needed_learns_it_however_late_he_comes() {
        let ((), greeted) = met(Duration::from_millis(50), Meeting::dismiss);
        assert!(greeted.is_err());
    }

    #[test]
    fn strangers_are_hung_up_on_and_the_others_waited_for() {
        let (streams, greeted) = met(Duration::from_millis(50), |meeting| {
            let address = meeting.listener.local_addr().expect("a port");
            let mut stranger = TcpStream::connect(address).expect("it listens");
            stranger.write_all(b"GET / HTTP/1.1\r\n\r\n").expect("room");
            meeting.streams().map(|streams| streams.len())
        });
        assert_eq!(streams, Ok(1));
        greeted.expect("it is known");
    }

    #[test]
    fn processes_are_of_one_build() {
        let other = Seat { program: "trireme, but another".to_owned(), ..seat("b", "0-7") };
        let refused = seated(&[seat("a", "0-3"), other]).expect_err("another build");
        assert!(refused.contains("trireme and trireme, but another"), "{refused}");
    }
}
