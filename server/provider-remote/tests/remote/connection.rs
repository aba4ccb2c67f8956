//! A peer that is away, and comes back.

use std::sync::Arc;
use std::time::Duration;

use toolfs_core::error::{Code, ErrorKind, Published, UnavailableCause};
use toolfs_provider::abort::AbortSignal;
use toolfs_provider::memory::{MemoryConfig, MemoryProvider};
use toolfs_provider::{Provider as _, ProviderExt as _};
use toolfs_provider_remote::{RemoteOptions, RemoteProvider};

use crate::network;
use crate::peer::Ask;

fn memory() -> Arc<MemoryProvider> {
    Arc::new(MemoryProvider::new(MemoryConfig::with_root("/w")).unwrap())
}

#[tokio::test]
async fn a_peer_that_is_away_is_unavailable_and_comes_back_by_itself() {
    let directory = tempfile::tempdir().unwrap();
    let socket = directory.path().join("seam.sock");
    let address = format!("unix:{}", socket.display());
    let provider = RemoteProvider::connect(&address, RemoteOptions::DEFAULT).unwrap();
    let abort = AbortSignal::new();
    for ask in Ask::ALL {
        let error = ask.of(&provider, &abort).await.unwrap_err();
        let kind = ErrorKind::Unavailable { cause: UnavailableCause::ProviderUnreachable };
        assert_eq!(error.kind(), &kind, "{ask:?}");
        assert_eq!(error.published(), Published::No, "{ask:?}: nothing was ever sent");
        assert!(!error.message().contains("seam.sock"), "{error}");
        assert!(std::error::Error::source(&error).is_some(), "the log can tell more");
    }

    let _same = network::over_socket(memory(), &socket);
    assert_eq!(provider.capabilities(&abort).await.unwrap().provider, "memory");
}

#[tokio::test]
async fn a_peer_that_takes_a_connection_and_says_nothing_is_given_up_where_calls_have_a_limit() {
    // The kernel takes the connection for a listener that nobody asks: the preface is never answered.
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let options = RemoteOptions { call_timeout: Some(Duration::from_millis(200)), ..RemoteOptions::DEFAULT };
    let provider = RemoteProvider::connect(&address, options).unwrap();
    let error = Ask::Stat.of(&provider, &AbortSignal::new()).await.unwrap_err();
    assert_eq!((error.code(), error.published()), (Code::Unavailable, Published::No));
}

#[tokio::test]
async fn clones_share_one_peer_and_many_calls_its_connection() {
    let provider = network::over_duplex(memory());
    let abort = AbortSignal::new();
    let calls = (0..64).map(|number| {
        let (provider, abort) = (provider.clone(), &abort);
        async move { provider.resolve_path(abort, &format!("f{number}")).await.unwrap().display_path }
    });
    let paths = futures_util::future::join_all(calls).await;
    assert_eq!(paths[63], "/w/f63");
}
