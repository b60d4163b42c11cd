//! Nodes of Ignite on this host: processes that listen on the loopback address alone, and end with whoever started them.
//!
//! A node is `node/Node.java`, which Java compiles when it starts it, with the libraries that `node/pom.xml` names and Maven fetches once. It
//! ends when its standard input does: when [`Nodes`] is dropped, after a panic, too, and when this process ends, killed or not. Its folder goes with it:
//! whoever outlives the other removes it. A cluster takes seconds to start: one that is given back serves the next that wants its like, until
//! [`stop_idle`] or the process's end.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Megabytes of a node's heap, in which it keeps what it does; rows are outside of it.
const HEAP_MB: usize = 384;
/// Megabytes for rows, at each node, at most.
const ROWS_MB: usize = 1024;

/// How long a node may take to start: seconds where it has a core, minutes where dozens of programs share it.
const PATIENCE: Duration = Duration::from_secs(300);

/// What Ignite reaches of Java's own insides.
const OPENED: [&str; 18] = [
    "java.base/java.io",
    "java.base/java.lang",
    "java.base/java.lang.invoke",
    "java.base/java.math",
    "java.base/java.net",
    "java.base/java.nio",
    "java.base/java.time",
    "java.base/java.util",
    "java.base/java.util.concurrent",
    "java.base/java.util.concurrent.atomic",
    "java.base/java.util.concurrent.locks",
    "java.base/jdk.internal.access",
    "java.base/jdk.internal.misc",
    "java.base/sun.nio.ch",
    "java.base/sun.reflect.generics.reflectiveObjects",
    "java.base/sun.util.calendar",
    "java.management/com.sun.jmx.mbeanserver",
    "jdk.management/com.sun.management.internal",
];

/// Clusters that were given back, empty. Nobody drops a static: [`stop_idle`] does.
static IDLE: Mutex<Vec<Nodes>> = Mutex::new(Vec::new());

/// A cluster.
pub struct Nodes {
    nodes: Vec<Node>,
    backups: usize,
    /// Goes after the nodes, each of which has a folder within it.
    _folder: TempDir,
}

/// A process.
struct Node {
    process: Child,
    clients: SocketAddr,
}

impl Drop for Node {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

impl Nodes {
    /// Starts `count` nodes that are one cluster, in which each row has `backups` copies beside the first. Otherwise why not, in words.
    pub fn start(count: usize, backups: usize) -> Result<Nodes, String> {
        let libraries = libraries()?;
        let folder = tempfile::tempdir().map_err(|error| format!("a folder for Ignite's files: {error}"))?;
        let mut nodes: Vec<Node> = Vec::with_capacity(count);
        let mut first = None;
        for number in 0..count {
            let own = folder.path().join(number.to_string());
            let (node, found_at) = start(&libraries, &own, backups, first.as_deref())?;
            first = first.or(Some(found_at));
            nodes.push(node);
        }
        Ok(Nodes { nodes, backups, _folder: folder })
    }

    /// A cluster that was given back, or else a new one.
    pub fn take(count: usize, backups: usize) -> Result<Nodes, String> {
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let is_like = |nodes: &Nodes| (nodes.count(), nodes.backups) == (count, backups);
        match idle.iter().position(is_like) {
            Some(position) => Ok(idle.swap_remove(position)),
            None => {
                drop(idle);
                Nodes::start(count, backups)
            }
        }
    }

    /// Keeps the cluster, in which nothing is left, for who takes it next.
    pub fn give_back(self) {
        IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(self);
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.nodes.len()
    }

    /// The numbers of their processes.
    pub fn processes(&self) -> Vec<u32> {
        self.nodes.iter().map(|node| node.process.id()).collect()
    }

    /// Where the clients of a node connect; there are as many nodes as there are, so that numbers go round.
    pub fn clients(&self, number: usize) -> SocketAddr {
        self.nodes[number % self.nodes.len()].clients
    }
}

/// Stops the clusters that were given back, and removes their folders: for the end of a program.
pub fn stop_idle() {
    let idle = std::mem::take(&mut *IDLE.lock().unwrap_or_else(PoisonError::into_inner));
    drop(idle);
}

/// The class path of Ignite's libraries, which Maven keeps where it keeps all; asked for once.
fn libraries() -> Result<String, String> {
    static LIBRARIES: OnceLock<Result<String, String>> = OnceLock::new();
    LIBRARIES.get_or_init(ask_maven).clone()
}

fn ask_maven() -> Result<String, String> {
    let cannot = |error: std::io::Error| format!("the libraries of Apache Ignite: {error}");
    let folder = tempfile::tempdir().map_err(cannot)?;
    let (description, answer) = (folder.path().join("pom.xml"), folder.path().join("libraries"));
    fs::write(&description, include_str!("../node/pom.xml")).map_err(cannot)?;
    let maven = Command::new("mvn")
        .args(["-B", "-q", "dependency:build-classpath"])
        .arg("-f")
        .arg(&description)
        .arg(format!("-Dmdep.outputFile={}", answer.display()))
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("mvn, which fetches Apache Ignite: {error}; install Maven"))?;
    if !maven.status.success() {
        let said = String::from_utf8_lossy(&maven.stdout);
        return Err(format!("mvn, which fetches Apache Ignite, failed: {}", last_lines(&said)));
    }
    fs::read_to_string(&answer).map_err(cannot)
}

/// A node, and the address at which others find it.
fn start(
    libraries: &str,
    folder: &Path,
    backups: usize,
    first: Option<&str>,
) -> Result<(Node, String), String> {
    let cannot = |error: std::io::Error| format!("a node of Apache Ignite: {error}");
    fs::create_dir(folder).map_err(cannot)?;
    let (complaints, source) = (folder.join("complaints"), folder.join("Node.java"));
    fs::write(&source, include_str!("../node/Node.java")).map_err(cannot)?;
    let mut java = Command::new("java");
    java.args([format!("-Xms{HEAP_MB}m"), format!("-Xmx{HEAP_MB}m")])
        .arg("-XX:+ExitOnOutOfMemoryError")
        .args(OPENED.map(|package| format!("--add-opens={package}=ALL-UNNAMED")))
        // It neither asks its makers for news nor prints its name in large letters.
        .args(["-DIGNITE_UPDATE_NOTIFIER=false", "-DIGNITE_NO_ASCII=true", "-DIGNITE_QUIET=true"])
        .args(["-DIGNITE_PERFORMANCE_SUGGESTIONS_DISABLED=true", "-Djava.net.preferIPv4Stack=true"])
        // It leaves nothing outside of its folder, and removes that itself if nobody is left to do it: Ignite's own hook would wait for others.
        .args(["-XX:-UsePerfData", "-DIGNITE_NO_SHUTDOWN_HOOK=true"])
        .arg(format!("-Djava.io.tmpdir={}", folder.display()))
        .arg(format!("-DIGNITE_WORK_DIR={}", folder.display()))
        .args(["-cp", libraries])
        .arg(&source)
        .args([backups.to_string(), ROWS_MB.to_string()])
        .arg(folder)
        .args(first)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(File::create(&complaints).map_err(cannot)?);
    let mut process = java
        .spawn()
        .map_err(|error| format!("java, which runs Apache Ignite: {error}; install a JDK of version 17"))?;
    let said = process.stdout.take().expect("a pipe");
    // From here on it is stopped whatever happens.
    let mut node = Node { process, clients: SocketAddr::from(([127, 0, 0, 1], 0)) };
    let ready = wait_until_ready(said, PATIENCE).map_err(|(why, said)| {
        let complained = fs::read_to_string(&complaints).unwrap_or_default();
        let said = last_lines(&format!("{said}\n{complained}"));
        // The file goes with its folder.
        format!("a node of Apache Ignite did not start: {why}; what it said and complained of: {said}")
    })?;
    node.clients = ready.clients;
    Ok((node, ready.found_at))
}

/// What a node says once it takes requests.
#[derive(Debug, PartialEq)]
struct Ready {
    /// Where other nodes find it.
    found_at: String,
    clients: SocketAddr,
}

/// Reads what a node says, to its end, so that no full pipe holds it up. If it does not say that it is ready: why, and what it said.
fn wait_until_ready(said: impl Read + Send + 'static, patience: Duration) -> Result<Ready, (String, String)> {
    let (tell, lines) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(said).lines().map_while(Result::ok) {
            // Nobody listens any more once it is ready.
            let _ = tell.send(line);
        }
    });
    let until = Instant::now() + patience;
    let mut before: Vec<String> = Vec::new();
    let why = loop {
        match lines.recv_timeout(until.saturating_duration_since(Instant::now())) {
            Ok(line) => {
                let addresses = line.strip_prefix("ready ").and_then(|rest| rest.split_once(' '));
                let ready = addresses.and_then(|(found_at, clients)| {
                    Some(Ready { found_at: found_at.to_owned(), clients: clients.parse().ok()? })
                });
                match ready {
                    Some(ready) => return Ok(ready),
                    None => before.push(line),
                }
            }
            Err(mpsc::RecvTimeoutError::Timeout) => {
                break format!("it was not ready within {} s", patience.as_secs_f64());
            }
            Err(mpsc::RecvTimeoutError::Disconnected) => break "it ended".to_owned(),
        }
    };
    Err((why, before.join("\n")))
}

/// The end of what a program said, on one line.
fn last_lines(said: &str) -> String {
    let lines: Vec<&str> = said.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    lines[lines.len().saturating_sub(12)..].join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{self, Write};

    #[test]
    fn a_node_that_never_says_that_it_is_ready_is_not_waited_for_for_ever() {
        let (said, mut node) = io::pipe().expect("a pipe");
        node.write_all(b"starting\n").expect("it is read");
        let refused = wait_until_ready(said, Duration::from_millis(100)).expect_err("it is not ready");
        assert_eq!(refused.0, "it was not ready within 0.1 s");
        drop(node);
    }

    #[test]
    fn a_node_is_ready_when_it_says_so_and_not_if_it_ends() {
        let patience = Duration::from_secs(60);
        let clients = SocketAddr::from(([127, 0, 0, 1], 7));
        let ready = Ready { found_at: "127.0.0.1:5".to_owned(), clients };
        assert_eq!(wait_until_ready(&b"noise\nready 127.0.0.1:5 127.0.0.1:7\n"[..], patience), Ok(ready));
        let ended = wait_until_ready(&b"no memory\n"[..], patience);
        assert_eq!(ended, Err(("it ended".to_owned(), "no memory".to_owned())));
    }
}
