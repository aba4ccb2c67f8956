//! Where to listen: addresses as typed, as meant, and as bound.

use std::fmt;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rustix::fs::FlockOperation;
use thiserror::Error;
use tokio::net::{TcpListener, UnixListener, UnixStream};
use toolfs_grpc::Listener;

use crate::placement::real_place;

/// How long to wait for others who are about to listen in the same directory: they need milliseconds.
const TURN_PATIENCE: Duration = Duration::from_secs(5);

/// How long to wait between two looks.
const TURN_STEP: Duration = Duration::from_millis(5);

/// Where a server listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A TCP address; port 0 lets the system choose.
    Tcp(SocketAddr),
    /// A Unix socket, made for its owner only.
    Unix(PathBuf),
}

/// Why an address cannot be used.
#[derive(Debug, Error)]
pub enum AddressError {
    /// It is none.
    #[error("`{0}` is no address: use IP:PORT, localhost:PORT or unix:PATH")]
    Shape(String),
    /// It reaches beyond this host.
    #[error(
        "`{0}` can be reached from other hosts, where nothing authenticates callers: use a loopback address or \
         unix:PATH, or add --allow-remote when something in front of it does"
    )]
    Remote(SocketAddr),
    /// Somebody listens there.
    #[error("a server listens on `{0}` already: stop it or choose another address")]
    Taken(Address),
    /// Something else is in the way.
    #[error("`{0}` exists and is no socket: choose another path")]
    NotASocket(PathBuf),
    /// The system refused.
    #[error("cannot listen on `{address}`: {source}")]
    Bind {
        /// The address.
        address: Address,
        /// Why.
        source: io::Error,
    },
}

impl Address {
    /// Reads an address as typed.
    ///
    /// # Errors
    /// [`AddressError::Shape`]
    pub fn parse(text: &str) -> Result<Address, AddressError> {
        let shape = || AddressError::Shape(text.to_owned());
        if let Some(path) = text.strip_prefix("unix:") {
            let path = path.strip_prefix("//").unwrap_or(path);
            return if path.is_empty() { Err(shape()) } else { Ok(Address::Unix(path.into())) };
        }
        if let Some(port) = text.strip_prefix("localhost:") {
            let port = port.parse().map_err(|_| shape())?;
            return Ok(Address::Tcp(SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)));
        }
        text.parse().map(Address::Tcp).map_err(|_| shape())
    }

    /// Refuses addresses that other hosts can reach, unless they are allowed.
    ///
    /// # Errors
    /// [`AddressError::Remote`]
    pub fn checked(self, allow_remote: bool) -> Result<Address, AddressError> {
        match &self {
            Address::Tcp(address) if !address.ip().to_canonical().is_loopback() && !allow_remote => {
                Err(AddressError::Remote(*address))
            }
            Address::Tcp(_) | Address::Unix(_) => Ok(self),
        }
    }

    /// Whether two addresses cannot both be listened on. Port 0 is another port each time.
    pub fn is_same(&self, other: &Address) -> bool {
        match (self, other) {
            (Address::Tcp(this), Address::Tcp(other)) => this == other && this.port() != 0,
            (Address::Unix(this), Address::Unix(other)) => real_place(this) == real_place(other),
            (Address::Tcp(_), Address::Unix(_)) | (Address::Unix(_), Address::Tcp(_)) => false,
        }
    }

    /// Starts to listen. The returned address has the port that the system chose.
    ///
    /// A socket that a server left behind is replaced; one that somebody listens on is not.
    ///
    /// # Errors
    /// [`AddressError::Taken`], [`AddressError::NotASocket`], [`AddressError::Bind`]
    pub async fn bind(&self) -> Result<Bound, AddressError> {
        let failed = |source| AddressError::Bind { address: self.clone(), source };
        match self {
            Address::Tcp(address) => {
                let listener = TcpListener::bind(address).await.map_err(|error| match error.kind() {
                    io::ErrorKind::AddrInUse => AddressError::Taken(self.clone()),
                    _ => failed(error),
                })?;
                let address = Address::Tcp(listener.local_addr().map_err(failed)?);
                Ok(Bound { address, listener: Listener::Tcp(listener), socket: None })
            }
            Address::Unix(path) => {
                // Of two servers that start at the same time, the second one sees the socket of the first.
                let _turn = Turn::take(path).await.map_err(failed)?;
                self.clear_the_way(path).await?;
                let listener = bind_private(path).map_err(failed)?;
                let inode = std::fs::symlink_metadata(path).map_err(failed)?.ino();
                let socket = Some(SocketFile { path: path.clone(), inode });
                Ok(Bound { address: self.clone(), listener: Listener::Unix(listener), socket })
            }
        }
    }

    async fn clear_the_way(&self, path: &Path) -> Result<(), AddressError> {
        let failed = |source| AddressError::Bind { address: self.clone(), source };
        match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(source) => return Err(failed(source)),
            Ok(metadata) if !metadata.file_type().is_socket() => {
                return Err(AddressError::NotASocket(path.to_owned()));
            }
            Ok(_) => {}
        }
        // Only a refusal says that nobody listens. A server that is too busy to accept, one of another user, or a
        // socket of another type answers with other errors, and is in use.
        match UnixStream::connect(path).await {
            Ok(_) => Err(AddressError::Taken(self.clone())),
            Err(error) => match error.kind() {
                // Left behind, or gone by now: the rename in `bind_private` replaces it.
                io::ErrorKind::ConnectionRefused | io::ErrorKind::NotFound => Ok(()),
                io::ErrorKind::WouldBlock => Err(AddressError::Taken(self.clone())),
                _ => Err(failed(error)),
            },
        }
    }
}

/// The turn to look at the place of a socket and to change it: a lock on its directory, which leaves no file behind.
#[derive(Debug)]
struct Turn {
    _directory: Option<File>,
}

impl Turn {
    /// Waits for the turn.
    async fn take(path: &Path) -> io::Result<Turn> {
        let mut waited = Duration::ZERO;
        loop {
            match Turn::try_take(path)? {
                Some(turn) => return Ok(turn),
                None if waited >= TURN_PATIENCE => {
                    return Err(io::Error::other("another process keeps the directory of the socket locked"));
                }
                None => tokio::time::sleep(TURN_STEP).await,
            }
            waited += TURN_STEP;
        }
    }

    /// Takes the turn if nobody has it. Where directories cannot be locked, everybody has it.
    fn try_take(path: &Path) -> io::Result<Option<Turn>> {
        let directory = open_directory(parent(path))?;
        match rustix::fs::flock(&directory, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => Ok(Some(Turn { _directory: Some(directory) })),
            Err(rustix::io::Errno::WOULDBLOCK) => Ok(None),
            Err(_) => Ok(Some(Turn { _directory: None })),
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the directory of the daemon's own socket")]
fn open_directory(path: &Path) -> io::Result<File> {
    File::open(path)
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Binds a socket that nobody but its owner can ever connect to: it is made in a private directory, given its mode
/// there, and then moved to its place.
#[expect(clippy::disallowed_methods, reason = "the daemon's own socket")]
fn bind_private(path: &Path) -> io::Result<UnixListener> {
    use std::os::unix::fs::DirBuilderExt as _;

    let mut suffix = [0; 8];
    getrandom::fill(&mut suffix).map_err(io::Error::other)?;
    // Short, since the whole path of a socket has at most 107 bytes.
    let private = parent(path).join(format!(".t{:x}", u64::from_ne_bytes(suffix) >> 16));
    std::fs::DirBuilder::new().mode(0o700).create(&private)?;
    let staged = private.join("s");
    let bound = UnixListener::bind(&staged).and_then(|listener| {
        std::fs::set_permissions(&staged, std::fs::Permissions::from_mode(0o600))?;
        std::fs::rename(&staged, path)?;
        Ok(listener)
    });
    if bound.is_err() {
        let _ = std::fs::remove_file(&staged);
    }
    let _ = std::fs::remove_dir(&private);
    bound
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Address::Tcp(address) => address.fmt(f),
            Address::Unix(path) => write!(f, "unix:{}", path.display()),
        }
    }
}

/// A listening address.
#[derive(Debug)]
pub struct Bound {
    /// The address, with the port that the system chose.
    pub address: Address,
    /// What accepts connections.
    pub listener: Listener,
    /// The socket's file, to be removed when serving ends.
    pub socket: Option<SocketFile>,
}

/// The file of a Unix socket. Removed when dropped, if it is still the one that was made.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    inode: u64,
}

impl Drop for SocketFile {
    #[expect(clippy::disallowed_methods, reason = "the daemon's own socket")]
    fn drop(&mut self) {
        // Somebody who starts at this moment replaces it: then it is not ours any more, or is no trouble.
        let Ok(Some(_turn)) = Turn::try_take(&self.path) else { return };
        if std::fs::symlink_metadata(&self.path).is_ok_and(|metadata| metadata.ino() == self.inode) {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_address_is_refused_with_the_forms_that_are() {
        for text in ["", "50051", "example.org:1", "unix:", "127.0.0.1", "127.0.0.1:70000", "localhost:x"] {
            let error = Address::parse(text).unwrap_err().to_string();
            assert!(error.contains("IP:PORT"), "{text}: {error}");
        }
        assert_eq!(Address::parse("localhost:7").unwrap().to_string(), "127.0.0.1:7");
        assert_eq!(Address::parse("[::1]:7").unwrap().to_string(), "[::1]:7");
        assert_eq!(Address::parse("unix:///run/t.sock").unwrap().to_string(), "unix:/run/t.sock");
    }

    #[test]
    fn what_other_hosts_can_reach_needs_the_explicit_flag() {
        for text in ["0.0.0.0:1", "[::]:1", "192.0.2.1:1", "[::ffff:192.0.2.1]:1"] {
            let address = Address::parse(text).unwrap();
            assert!(matches!(address.clone().checked(false), Err(AddressError::Remote(_))), "{text}");
            assert_eq!(address.clone().checked(true).unwrap(), address);
        }
        for text in ["127.0.0.1:1", "127.9.9.9:1", "[::1]:1", "[::ffff:127.0.0.1]:1", "unix:/x"] {
            assert!(Address::parse(text).unwrap().checked(false).is_ok(), "{text}");
        }
    }

    #[test]
    fn one_place_in_two_spellings_is_one_address() {
        let directory = tempfile::tempdir().unwrap();
        let there = |path: &str| format!("unix:{}/{path}", directory.path().display());
        let is_same =
            |one: &str, other: &str| Address::parse(one).unwrap().is_same(&Address::parse(other).unwrap());
        assert!(is_same("127.0.0.1:1", "localhost:1"));
        assert!(!is_same("127.0.0.1:1", "127.0.0.1:2"));
        assert!(!is_same("127.0.0.1:0", "127.0.0.1:0"));
        assert!(is_same(&there("s"), &there("./s")));
        assert!(is_same(&there("s"), &there("d/../s")));
        assert!(!is_same(&there("s"), &there("t")));
        assert!(!is_same(&there("s"), "127.0.0.1:1"));
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn of_servers_that_start_at_the_same_time_one_gets_the_socket() {
        let directory = tempfile::tempdir().unwrap();
        for round in 0..50 {
            let path = directory.path().join("s");
            if round % 2 == 1 {
                drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
            }
            let address = Address::Unix(path.clone());
            let starts = (0..4).map(|_| async { address.bind().await });
            let mut bound = Vec::new();
            for result in futures_util::future::join_all(starts).await {
                match result {
                    Ok(socket) => bound.push(socket),
                    Err(error) => assert!(matches!(error, AddressError::Taken(_)), "{error}"),
                }
            }
            assert_eq!(bound.len(), 1, "round {round}");
            drop(bound);
            assert!(!path.exists());
        }
    }

    #[tokio::test]
    async fn a_socket_is_private_and_gone_afterwards() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let address = Address::Unix(path.clone());

        let bound = address.bind().await.unwrap();
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        assert!(matches!(address.bind().await, Err(AddressError::Taken(_))));

        drop(bound);
        assert_eq!(directory.path().read_dir().unwrap().count(), 0);
    }

    #[tokio::test]
    async fn a_socket_that_was_left_behind_is_replaced_and_another_file_is_not() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        drop(std::os::unix::net::UnixListener::bind(&path).unwrap());
        drop(Address::Unix(path.clone()).bind().await.unwrap());

        tempfile::NamedTempFile::new_in(&directory).unwrap().persist(&path).unwrap();
        assert!(matches!(Address::Unix(path.clone()).bind().await, Err(AddressError::NotASocket(_))));
        assert!(path.exists());
    }

    /// Connecting to it fails, and not because nobody listens.
    #[tokio::test]
    async fn a_live_socket_that_no_stream_can_connect_to_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("s");
        let other = std::os::unix::net::UnixDatagram::bind(&path).unwrap();
        let refused = Address::Unix(path.clone()).bind().await;
        assert!(matches!(refused, Err(AddressError::Bind { .. })), "{refused:?}");
        let sender = std::os::unix::net::UnixDatagram::unbound().unwrap();
        sender.send_to(b"still there", &path).unwrap();
        assert_eq!(other.recv(&mut [0; 64]).unwrap(), 11);
    }
}
