//! Being a node of somebody's run; and waiting for such runs.

use crate::assignment::{Assignment, host, receive, send};
use crate::control::{Control, SILENCE};
use crate::fabric::{self, Fabric, Meeting, Met};
use crate::group::{Founding, Group, heard};
use crate::handshake::{Credentials, End, shake};
use crate::launch::attach;
use crate::pending::{MOST_STRANGERS, Strangers};
use crate::stream::Stream;
use machine::hardware::clock;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::process::{Child, Stdio};
use std::thread::{self, Builder};
use std::time::Duration;

/// For the first node to say who it is.
const PATIENCE: Duration = Duration::from_secs(20);
/// For it to have started all others.
const PATIENCE_FOR_ALL: Duration = Duration::from_secs(120);
/// For whoever connects from somewhere to be known.
const PATIENCE_WITH_STRANGERS: Duration = Duration::from_secs(5);
/// For what a node does to end by itself, once the first has ended.
const LAST_BREATH: Duration = Duration::from_millis(300);
/// Bytes of why somebody is not known.
const MOST_WORDS: u64 = 1 << 10;

/// What a process that was started for somebody who has connected says first, if it knows him; in place of it, why it does not.
const KNOWN: &str = "known";

/// Makes this process a node of the run that its standard input leads to; the words of the command that it is to carry out. `kind`: of
/// socket. Who has started it is told on standard output whether the other end is known. `ends`: is called before the process ends because the first node has.
pub fn attached(
    kind: &str,
    credentials: Credentials,
    ends: impl Fn() + Send + 'static,
) -> io::Result<(Vec<String>, &'static Group)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let (stream, patience) = match kind {
        "tcp" => (Stream::Tcp(input.into()), PATIENCE_WITH_STRANGERS),
        _ => (Stream::Unix(input.into()), PATIENCE),
    };
    stream.keep_alive(SILENCE)?;
    let shaken = shake(stream, End::Accepts, &credentials, patience).map_err(|refusal| refusal.to_string());
    // The one line on standard output: nobody may read it any more.
    let _ = writeln!(io::stdout(), "{}", shaken.as_ref().err().map_or(KNOWN, String::as_str));
    rustix::stdio::dup2_stdout(File::options().write(true).open("/dev/null")?)?;
    take_part(shaken.map_err(io::Error::other)?, credentials, None, ends)
}

/// What a process is to a fabric.
pub enum Role {
    /// The first, which starts runs and is where the others connect.
    First(Meeting),
    /// Another one, which is a node of the run with these words.
    Node(Vec<String>),
    /// Another one, and the first does what needs no others.
    NotWanted,
}

/// Makes this process what it is to a fabric, all of whose processes call this at the same time. An error in words.
pub fn of_fabric(
    fabric: &'static dyn Fabric,
    program: &str,
    ends: impl Fn() + Send + 'static,
) -> Result<Role, String> {
    let (stream, credentials) = match fabric::meet(fabric, program)? {
        Met::First(meeting) => return Ok(Role::First(meeting)),
        Met::Other(stream, credentials) => (stream, credentials),
    };
    // What does not fit the first says.
    let Ok(stream) = fabric::greet(fabric, stream, &credentials) else { return Ok(Role::NotWanted) };
    let (words, _) = take_part(stream, credentials, Some(fabric), ends).map_err(|error| error.to_string())?;
    Ok(Role::Node(words))
}

/// Becomes the node that the first, at the other end of the stream, says.
fn take_part(
    mut stream: Stream,
    mut credentials: Credentials,
    fabric: Option<&'static dyn Fabric>,
    ends: impl Fn() + Send + 'static,
) -> io::Result<(Vec<String>, &'static Group)> {
    stream.set_patience(Some(PATIENCE))?;
    send(&mut stream, &host())?;
    let assignment: Assignment = receive(&mut stream, PATIENCE_FOR_ALL)?;
    if !assignment.is_possible() {
        return Err(io::Error::other("it is told to do what no node does"));
    }
    let address = assignment.address(&stream);
    let Assignment { number, hosts, cores, words, secret, run, first: _, ticks_per_second } = assignment;
    if hosts[number] == hosts[0] {
        clock::share_rate(ticks_per_second);
    }
    credentials.secret = secret;
    let children = Vec::new();
    let founding = Founding { number, hosts, cores, run, children, address, credentials, fabric };
    let hears = move |what: io::Result<Vec<u8>>| {
        if what.is_err() {
            if Group::get().is_some_and(Group::is_over) {
                return;
            }
            // Whatever it was: nobody waits for this node any more. What it does may end by itself, and say more.
            thread::sleep(LAST_BREATH);
            ends();
            std::process::exit(1);
        }
        heard(0, what);
    };
    let group = Group::set(founding, || Ok(vec![Some(Control::over(stream, hears)?)]))?;
    Ok((words, group))
}

/// Waits at an address for those who start runs, and starts a process for each, which is told these words and shakes hands with him: so that it has the connection from the first byte on,
/// whether it is encrypted or not. Returns if the address cannot be had. `log` is told who came.
pub fn listen(
    address: SocketAddr,
    words: &[String],
    log: impl Fn(&str) + Send + Sync + Clone + 'static,
) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    log(&format!("waits at {}", listener.local_addr()?));
    let strangers = Strangers::default();
    loop {
        let (stream, from) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                log(&format!("a connection could not be accepted: {error}"));
                thread::sleep(Duration::from_millis(100));
                continue;
            }
        };
        let Some(stranger) = strangers.enter() else {
            log(&format!(
                "{from}: the connection is closed: {MOST_STRANGERS} others have not said who they are"
            ));
            continue;
        };
        let (words, serving) = (words.to_vec(), log.clone());
        let serve = move || {
            let known = begin(stream, &words);
            drop(stranger);
            if let Err(why) = known.and_then(|node| serve(node, from, &serving)) {
                serving(&format!("{from}: the connection is closed: {why}"));
            }
        };
        if let Err(error) = Builder::new().spawn(serve) {
            log(&format!("{from}: the connection is closed: {error}"));
        }
    }
}

/// Starts a process for whoever has connected; it ends if it does not know him.
fn begin(stream: TcpStream, words: &[String]) -> Result<Child, String> {
    let attached = attach("tcp", stream.into(), words, Stdio::piped());
    let mut node = attached.map_err(|error| error.to_string())?;
    let mut said = String::new();
    let output = node.stdout.take().expect("a pipe").take(MOST_WORDS);
    let read = BufReader::new(output).read_line(&mut said);
    let refusal = match (read, said.trim_end()) {
        (Ok(_), KNOWN) => return Ok(node),
        (Ok(0), _) => "its process has ended".to_owned(),
        (Ok(_), why) => why.to_owned(),
        (Err(error), _) => error.to_string(),
    };
    // It ends by itself.
    let _ = node.wait();
    Err(refusal)
}

fn serve(mut node: Child, from: SocketAddr, log: &impl Fn(&str)) -> Result<(), String> {
    log(&format!("{from}: a run begins, in process {}", node.id()));
    let status = node.wait().map_err(|error| error.to_string())?;
    log(&format!("{from}: the run is over ({status})"));
    Ok(())
}
