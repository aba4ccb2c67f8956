use std::fmt;
use std::sync::{Arc, Mutex};

use expect_test::expect;
use futures_util::future::FutureExt;
use tracing::field::{Empty, Field, Visit};
use tracing::{Instrument, Subscriber, span};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::{Context, SubscriberExt};

use crate::support::{World, edit, read, request};

/// Writes down what is recorded on spans.
#[derive(Clone, Debug, Default)]
struct Recorded(Arc<Mutex<String>>);

impl<S: Subscriber> Layer<S> for Recorded {
    fn on_record(&self, _: &span::Id, values: &span::Record<'_>, _: Context<'_, S>) {
        values.record(&mut self.clone());
    }
}

impl Visit for Recorded {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.0.lock().unwrap().push_str(&format!("{field}={value:?}\n"));
    }
}

#[test]
fn a_span_has_what_happened_and_neither_content_nor_secret() {
    let recorded = Recorded::default();
    let subscriber = tracing_subscriber::registry().with(recorded.clone());
    let world = World::new();
    world.put("a.txt", "secret content\n");
    tracing::subscriber::with_default(subscriber, || {
        let calls = async {
            let session = world.open().await;
            for call in [read("a.txt"), edit("a.txt", "content", "text"), edit("a.txt", "nowhere", "text")] {
                let span = tracing::info_span!(
                    "call",
                    tool = Empty,
                    session = Empty,
                    code = Empty,
                    guard = Empty,
                    bytes = Empty
                );
                world.execute(request(&session, call)).instrument(span).await.unwrap();
            }
        };
        calls.now_or_never().expect("nothing here waits");
    });
    expect![[r#"
        session="session-0000000000000001"
        tool="read"
        bytes=14
        session="session-0000000000000001"
        tool="edit"
        guard="replace_if_version"
        bytes=12
        session="session-0000000000000001"
        tool="edit"
        guard="replace_if_version"
        code="FS_EDIT_NOT_FOUND"
    "#]]
    .assert_eq(&recorded.0.lock().unwrap());
}
