//! Being a node of somebody's run; and waiting for such runs.

use crate::assignment::{Assignment, host, receive, send};
use crate::control::{Control, words};
use crate::group::{Founding, Group, heard};
use crate::handshake::{Credentials, End, shake};
use crate::launch::attach;
use crate::stream::{Stream, Until};
use machine::hardware::clock;
use std::io;
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, Builder};
use std::time::Duration;

/// For the first node to say who it is.
const PATIENCE: Duration = Duration::from_secs(20);
/// For it to have started all others.
const PATIENCE_FOR_ALL: Duration = Duration::from_secs(120);
/// For whoever connects from somewhere to be known.
const PATIENCE_WITH_STRANGERS: Duration = Duration::from_secs(5);
/// Those that are not known yet, at a time.
const MOST_STRANGERS: usize = 32;

/// Makes this process a node of the run that its standard input leads to; the words of the command that it is to carry out. `kind`: of
/// socket; over TCP hands were shaken by who waited for the connection. `ends`: is called before the process ends because the first node has.
pub fn attached(
    program: &str,
    kind: &str,
    ends: impl Fn() + Send + 'static,
) -> io::Result<(Vec<String>, &'static Group)> {
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let mut stream = match kind {
        "tcp" => Stream::Tcp(input.into()),
        _ => Stream::Unix(input.into()),
    };
    stream.set_patience(Some(PATIENCE))?;
    let mut credentials = Credentials { program: program.to_owned(), secret: Vec::new() };
    if matches!(stream, Stream::Unix(_)) {
        let shaken = shake(&mut Until::after(&mut stream, PATIENCE), End::Accepts, &credentials);
        shaken.map_err(|refusal| io::Error::other(refusal.to_string()))?;
    }
    send(&mut stream, &host())?;
    let assignment: Assignment = receive(&mut stream, PATIENCE_FOR_ALL)?;
    if !assignment.is_possible() {
        return Err(io::Error::other("it is told to do what no node does"));
    }
    let Assignment { number, nodes, cores, place, words, secret, run, ticks_per_second } = assignment;
    if place.of == nodes {
        clock::share_rate(ticks_per_second);
    }
    credentials.secret = secret;
    let (address, children) = (stream.own_address(), Vec::new());
    let founding = Founding { number, nodes, cores, place, run, children, address, credentials };
    let hears = move |what: io::Result<Vec<u8>>| {
        if what.is_err() {
            // Whatever it was: nobody waits for this node any more.
            ends();
            std::process::exit(1);
        }
        heard(0, what);
    };
    let group = Group::set(founding, || Ok(vec![Some(Control::over(stream, hears)?)]))?;
    Ok((words, group))
}

/// Waits at an address for those who start runs, and starts a node for each that knows the secret; returns if the address cannot be had. `log` is told who came.
pub fn listen(
    address: SocketAddr,
    credentials: &Credentials,
    log: impl Fn(&str) + Send + Sync + Clone + 'static,
) -> io::Result<()> {
    let listener = TcpListener::bind(address)?;
    log(&format!("waits at {}", listener.local_addr()?));
    let strangers = Arc::new(AtomicUsize::new(0));
    loop {
        let (stream, from) = match listener.accept() {
            Ok(accepted) => accepted,
            Err(error) => {
                log(&format!("a connection could not be accepted: {error}"));
                thread::sleep(Duration::from_millis(100));
                continue;
            }
        };
        // Relaxed, here and below: a bound, not an order.
        if strangers.fetch_add(1, Ordering::Relaxed) >= MOST_STRANGERS {
            strangers.fetch_sub(1, Ordering::Relaxed);
            log(&format!(
                "{from}: the connection is closed: {MOST_STRANGERS} others have not said who they are"
            ));
            continue;
        }
        let (credentials, serving, strangers) = (credentials.clone(), log.clone(), Arc::clone(&strangers));
        let serve = move || {
            let known = admit(stream, &credentials);
            strangers.fetch_sub(1, Ordering::Relaxed);
            if let Err(why) = known.and_then(|stream| serve(stream, from, &serving)) {
                serving(&format!("{from}: the connection is closed: {why}"));
            }
        };
        if let Err(error) = Builder::new().spawn(serve) {
            log(&format!("{from}: the connection is closed: {error}"));
        }
    }
}

/// Shakes hands with whoever has connected.
fn admit(stream: TcpStream, credentials: &Credentials) -> Result<Stream, String> {
    let mut stream = Stream::Tcp(stream);
    let until = &mut Until::after(&mut stream, PATIENCE_WITH_STRANGERS);
    shake(until, End::Accepts, credentials).map_err(|refusal| refusal.to_string())?;
    stream.keep_alive().map_err(|error| words(&error))?;
    Ok(stream)
}

fn serve(stream: Stream, from: SocketAddr, log: &impl Fn(&str)) -> Result<(), String> {
    let mut node = attach(stream).map_err(|error| error.to_string())?;
    log(&format!("{from}: a run begins, in process {}", node.id()));
    let status = node.wait().map_err(|error| error.to_string())?;
    log(&format!("{from}: the run is over ({status})"));
    Ok(())
}
