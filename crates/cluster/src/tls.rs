//! TLS: what both ends of a connection prove who they are by, where that is asked for.
//!
//! Every node has three files: a certificate that the cluster's authority has signed, the certificate's key, and the authority's own certificate, by which it knows the others. Both
//! ends show their certificates (*mutual* TLS, version 1.3). That of the end that was connected to must name the address at which it was found. What nodes then say is encrypted
//! ([`crate::encrypted`]). The secret is asked for all the same, and proved over this very connection ([`crate::handshake`]).

use crate::encrypted::{Encrypted, Records};
use crate::handshake::{End, Refusal};
use crate::stream::{Stream, Until};
use rustls::client::Resumption;
use rustls::crypto::ring::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName};
use rustls::server::WebPkiClientVerifier;
use rustls::version::TLS13;
use rustls::{
    AlertDescription, CertificateError, ClientConfig, ClientConnection, Connection, Error, InvalidMessage,
    RootCertStore, ServerConfig, ServerConnection,
};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

/// Where a node's proofs are, each in the PEM format.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Files {
    /// The node's certificate, and those between it and the authority's, if there are any.
    pub certificate: PathBuf,
    /// The certificate's private key.
    pub key: PathBuf,
    /// The authority's certificate, or several.
    pub authority: PathBuf,
}

/// The options by which a node is told them, in the fields' order.
pub const OPTIONS: [&str; 3] = ["tls-certificate", "tls-key", "tls-authority"];

impl Files {
    /// What tells a node of them.
    pub fn words(&self) -> Vec<String> {
        let files = [&self.certificate, &self.key, &self.authority];
        let word = |(option, file): (&str, &PathBuf)| [format!("--{option}"), file.display().to_string()];
        OPTIONS.into_iter().zip(files).flat_map(word).collect()
    }
}

/// See the module.
#[derive(Clone)]
pub struct Tls {
    connects: Arc<ClientConfig>,
    accepts: Arc<ServerConfig>,
}

impl Tls {
    /// Of these files; in words, which of them will not do, and why.
    pub fn read(files: &Files) -> Result<Tls, String> {
        let Files { certificate, key, authority } = files;
        let chain = certificates("certificate", certificate)?;
        let key = PrivateKeyDer::from_pem_file(key).map_err(|error| unreadable("key", key, &error))?;
        let mut roots = RootCertStore::empty();
        for root in certificates("authority's certificate", authority)? {
            roots.add(root).map_err(|error| {
                format!("the authority's certificate's file {}: {error}", authority.display())
            })?;
        }
        let roots = Arc::new(roots);
        let unfit = |error: &dyn std::fmt::Display| {
            format!(
                "the certificate in {} with the key in {}: {error}",
                certificate.display(),
                files.key.display()
            )
        };
        let provider = Arc::new(default_provider());
        let client = ClientConfig::builder_with_provider(provider.clone()).with_protocol_versions(&[&TLS13]);
        let client = client.map_err(|error| unfit(&error))?.with_root_certificates(roots.clone());
        let mut client =
            client.with_client_auth_cert(chain.clone(), key.clone_key()).map_err(|error| unfit(&error))?;
        // Connections are few, and each proves everything.
        client.resumption = Resumption::disabled();
        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone()).build();
        let verifier = verifier.map_err(|error| unfit(&error))?;
        let server = ServerConfig::builder_with_provider(provider).with_protocol_versions(&[&TLS13]);
        let server = server.map_err(|error| unfit(&error))?.with_client_cert_verifier(verifier);
        let mut server = server.with_single_cert(chain, key).map_err(|error| unfit(&error))?;
        server.send_tls13_tickets = 0;
        Ok(Tls { connects: Arc::new(client), accepts: Arc::new(server) })
    }

    /// Has both ends of a connection over TCP prove who they are, within this time.
    pub(crate) fn secure(&self, stream: Stream, end: End, patience: Duration) -> Result<Stream, Refusal> {
        let Stream::Tcp(socket) = &stream else { return Ok(stream) };
        let connection = match end {
            End::Connects => {
                let name = ServerName::IpAddress(socket.peer_addr()?.ip().into());
                ClientConnection::new(self.connects.clone(), name).map(Connection::from)
            }
            End::Accepts => ServerConnection::new(self.accepts.clone()).map(Connection::from),
        };
        let mut connection = connection.map_err(|error| Refusal::Tls(error.to_string()))?;
        let mut stream = stream;
        let mut until = Until::after(&mut stream, patience);
        while connection.is_handshaking() || connection.wants_write() {
            if let Err(error) = connection.complete_io(&mut until) {
                // The other end is told why, if it is still there.
                while connection.wants_write() && connection.write_tls(&mut until).is_ok() {}
                return Err(match error.kind() {
                    io::ErrorKind::UnexpectedEof | io::ErrorKind::ConnectionReset => {
                        Refusal::Tls("it closes the connection, where TLS is wanted".to_owned())
                    }
                    _ => error.into(),
                });
            }
        }
        match stream {
            Stream::Tcp(socket) => {
                Ok(Stream::Encrypted(Arc::new(Encrypted::new(socket, Records::of(connection)?))))
            }
            other => Ok(other),
        }
    }
}

fn certificates(what: &str, path: &Path) -> Result<Vec<CertificateDer<'static>>, String> {
    let read = CertificateDer::pem_file_iter(path).and_then(Iterator::collect::<Result<Vec<_>, _>>);
    let certificates = read.map_err(|error| unreadable(what, path, &error))?;
    match certificates.is_empty() {
        true => Err(format!("the {what}'s file {} has no certificate in the PEM format", path.display())),
        false => Ok(certificates),
    }
}

fn unreadable(what: &str, path: &Path, error: &rustls::pki_types::pem::Error) -> String {
    format!("the {what}'s file {}: {error}", path.display())
}

/// What was wrong with the other end, if an error says so.
pub(crate) fn words(error: &io::Error) -> Option<String> {
    use CertificateError as Bad;
    let error = error.get_ref()?.downcast_ref::<Error>()?;
    Some(match error {
        Error::InvalidMessage(InvalidMessage::InvalidContentType) => {
            "it speaks plain text, where TLS is wanted".to_owned()
        }
        Error::NoCertificatesPresented => "it has shown no certificate".to_owned(),
        // Another one may have the same name.
        Error::InvalidCertificate(Bad::UnknownIssuer | Bad::BadSignature) => {
            "its certificate is of another authority".to_owned()
        }
        Error::InvalidCertificate(Bad::Expired | Bad::ExpiredContext { .. }) => {
            "its certificate has expired".to_owned()
        }
        Error::InvalidCertificate(Bad::NotValidYet | Bad::NotValidYetContext { .. }) => {
            "its certificate is not valid yet".to_owned()
        }
        Error::InvalidCertificate(Bad::NotValidForName | Bad::NotValidForNameContext { .. }) => {
            "its certificate does not name the address at which it was found".to_owned()
        }
        Error::InvalidCertificate(bad) => format!("its certificate is not valid: {bad}"),
        Error::AlertReceived(AlertDescription::UnknownCA | AlertDescription::DecryptError) => {
            "it does not know the authority of this node's certificate".to_owned()
        }
        Error::AlertReceived(AlertDescription::CertificateExpired) => {
            "to it, this node's certificate has expired, or is not valid yet".to_owned()
        }
        Error::AlertReceived(alert) => format!("it has refused this node: {alert:?}"),
        other => other.to_string(),
    })
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::handshake::{Credentials, shake};
    use rcgen::{BasicConstraints, CertificateParams, CertifiedIssuer, DnType, IsCa, KeyPair, date_time_ymd};
    use std::fs;
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, TcpListener, TcpStream};
    use std::thread;
    use tempfile::TempDir;

    const PATIENCE: Duration = Duration::from_secs(10);

    /// Signs the certificates of nodes.
    pub(crate) struct Authority {
        issuer: CertifiedIssuer<'static, KeyPair>,
        folder: TempDir,
    }

    impl Authority {
        pub(crate) fn new() -> Authority {
            Authority::named("an authority")
        }

        fn named(name: &str) -> Authority {
            let mut params = CertificateParams::new(Vec::new()).expect("no addresses");
            params.distinguished_name.push(DnType::CommonName, name);
            params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
            let key = KeyPair::generate().expect("a key");
            let issuer = CertifiedIssuer::self_signed(params, key).expect("a certificate");
            Authority { issuer, folder: TempDir::new().expect("a folder") }
        }

        /// A node's files, with a certificate of this address, valid from the one year to the other.
        pub(crate) fn node(&self, address: &str, years: std::ops::Range<i32>) -> Files {
            let mut params = CertificateParams::new(vec![address.to_owned()]).expect("an address");
            params.not_before = date_time_ymd(years.start, 1, 1);
            params.not_after = date_time_ymd(years.end, 1, 1);
            let key = KeyPair::generate().expect("a key");
            let certificate = params.signed_by(&key, &self.issuer).expect("a certificate");
            let write = |name: &str, text: String| {
                let path = self.folder.path().join(format!("{address}-{}.{name}", years.start));
                fs::write(&path, text).expect("a file");
                path
            };
            Files {
                certificate: write("pem", certificate.pem()),
                key: write("key", key.serialize_pem()),
                authority: write("ca", self.issuer.pem()),
            }
        }

        pub(crate) fn tls(&self) -> Tls {
            Tls::read(&self.node("127.0.0.1", 2020..2100)).expect("files that fit")
        }
    }

    pub(crate) fn credentials(tls: Option<Tls>) -> Credentials {
        Credentials { program: "one".to_owned(), secret: b"secret"[..].into(), tls }
    }

    pub(crate) fn sockets() -> (TcpStream, TcpStream) {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("a port");
        let one = TcpStream::connect(listener.local_addr().expect("an address")).expect("it listens");
        (one, listener.accept().expect("it has connected").0)
    }

    type Shaken = Result<Stream, Refusal>;

    /// What comes of it at who connects, and at who was connected to.
    pub(crate) fn both(connects: Credentials, accepts: Credentials) -> (Shaken, Shaken) {
        let (one, other) = sockets();
        thread::scope(|scope| {
            let other = scope.spawn(move || shake(Stream::Tcp(other), End::Accepts, &accepts, PATIENCE));
            let one = shake(Stream::Tcp(one), End::Connects, &connects, PATIENCE);
            (one, other.join().expect("no panic"))
        })
    }

    fn why(shaken: Shaken) -> String {
        shaken.map(drop).expect_err("refused").to_string()
    }

    #[test]
    fn nodes_of_one_authority_talk() {
        let authority = Authority::new();
        let own = || credentials(Some(authority.tls()));
        let (one, other) = both(own(), own());
        let (mut one, mut other) = (one.expect("known"), other.expect("known"));
        let bindings = [&one, &other].map(|stream| stream.binding().expect("a number"));
        assert!(!bindings[0].is_empty() && bindings[0] == bindings[1]);
        let mut come = [0; 5];
        one.write_all(b"there").expect("an open end");
        other.read_exact(&mut come).expect("an open end");
        assert_eq!(&come, b"there");
        other.write_all(b"again").expect("an open end");
        one.read_exact(&mut come).expect("an open end");
        assert_eq!(&come, b"again");
        let (third, _) = both(own(), own());
        assert_ne!(third.expect("known").binding().expect("a number"), bindings[0], "each has its own");
    }

    #[test]
    fn who_does_not_prove_who_he_is_is_refused() {
        let (authority, same_name) = (Authority::new(), Authority::new());
        let another = Authority::named("another");
        let own = || Some(authority.tls());
        let with = |files: Files| Some(Tls::read(&files).expect("files that fit"));
        let expired = || with(authority.node("127.0.0.1", 2019..2020));
        let early = || with(authority.node("127.0.0.1", 2099..2100));
        let elsewhere = || with(authority.node("10.0.0.2", 2020..2100));
        let wanted = "it speaks plain text, where TLS is wanted";
        let unwanted = "it speaks TLS, which is not asked for here";
        // Who connects, who was connected to, and what they say of each other.
        let refused: [(Option<Tls>, Option<Tls>, &str, &str); 9] = [
            (
                own(),
                Some(same_name.tls()),
                "its certificate is of another authority",
                "does not know the authority",
            ),
            (
                own(),
                Some(another.tls()),
                "its certificate is of another authority",
                "does not know the authority",
            ),
            (own(), expired(), "its certificate has expired", "certificate has expired, or is not valid yet"),
            (
                own(),
                early(),
                "its certificate is not valid yet",
                "certificate has expired, or is not valid yet",
            ),
            (
                own(),
                elsewhere(),
                "does not name the address at which it was found",
                "it has refused this node",
            ),
            (expired(), own(), "", "its certificate has expired"),
            (early(), own(), "", "its certificate is not valid yet"),
            (None, own(), unwanted, wanted),
            (own(), None, "it closes the connection, where TLS is wanted", unwanted),
        ];
        for (connects, accepts, of_other, of_one) in refused {
            let (one, other) = both(credentials(connects), credentials(accepts));
            let (one, other) = (why(one), why(other));
            assert!(one.contains(of_other), "{one}, in place of {of_other}");
            assert!(other.contains(of_one), "{other}, in place of {of_one}");
        }
        // The address at which somebody was found says nothing of who has found him.
        let (one, other) = both(credentials(elsewhere()), credentials(own()));
        assert!(one.is_ok() && other.is_ok());
    }

    #[test]
    fn who_shows_no_certificate_is_refused() {
        let authority = Authority::new();
        let tls = authority.tls();
        let mut roots = RootCertStore::empty();
        roots.add(authority.issuer.der().clone()).expect("a certificate");
        let client = ClientConfig::builder_with_provider(Arc::new(default_provider()));
        let client = client.with_protocol_versions(&[&TLS13]).expect("a version");
        let client = client.with_root_certificates(roots).with_no_client_auth();
        let (one, other) = both(
            credentials(Some(Tls { connects: Arc::new(client), ..tls.clone() })),
            credentials(Some(tls)),
        );
        assert!(one.is_err());
        assert_eq!(why(other), "it has shown no certificate");
    }

    /// A certificate does not do in place of the secret.
    #[test]
    fn the_secret_is_asked_for_all_the_same() {
        let authority = Authority::new();
        let own = || credentials(Some(authority.tls()));
        let wrong = Credentials { secret: b"another"[..].into(), ..own() };
        let (one, other) = both(own(), wrong);
        assert!(matches!((one, other), (Err(Refusal::Secret), Err(Refusal::Secret))));
    }

    #[test]
    fn who_says_nothing_is_not_waited_for() {
        let authority = Authority::new();
        let (_one, other) = sockets();
        let own = credentials(Some(authority.tls()));
        let shaken = shake(Stream::Tcp(other), End::Accepts, &own, Duration::from_millis(50));
        assert!(matches!(shaken, Err(Refusal::Silent)));
    }

    #[test]
    fn files_that_do_not_fit_are_named() {
        let authority = Authority::new();
        let files = || authority.node("127.0.0.1", 2020..2100);
        let other_key = authority.node("127.0.0.2", 2020..2100).key;
        let absent = |name: &str| authority.folder.path().join(name);
        for (files, words) in [
            (Files { certificate: absent("nobody.pem"), ..files() }, "nobody.pem"),
            (Files { certificate: files().key, ..files() }, "has no certificate in the PEM format"),
            (Files { key: files().certificate, ..files() }, "the key's file"),
            (Files { key: other_key, ..files() }, "with the key in"),
            (Files { authority: absent("no-ca.pem"), ..files() }, "no-ca.pem"),
        ] {
            let refused = Tls::read(&files).err().expect("refused");
            assert!(refused.contains(words), "{refused}");
        }
    }
}
