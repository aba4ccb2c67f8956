//! Callers who go away or run out of time in the middle of a write: the file is the old or the new one, nothing is
//! left beside it, and the next write works.

use std::time::{Duration, Instant};

use toolfs_client::{Error, v1};

use crate::support::answer::version_of;
use crate::support::door::{Ask, write_call};
use crate::support::wire::execute_request;
use crate::support::{World, cases};

cases! {
    wire: [
        a_write_whose_caller_went_away_is_whole_or_not_there,
        a_write_that_ran_out_of_time_is_whole_or_not_there,
        a_new_file_whose_caller_went_away_is_whole_or_not_there,
    ];
}

/// At how many moments of a write it is given up.
const MOMENTS: u32 = 24;

/// Contents that differ in every line, the new one large enough to take a while.
fn contents() -> (String, String) {
    ("the old content\n".repeat(1_000), "the new content is longer\n".repeat(160_000))
}

/// How long such a write takes here, from end to end.
async fn duration_of_a_write(world: &World, content: &str) -> Duration {
    let agent = world.agent().await;
    let began = Instant::now();
    agent.write("measure/f", content).await.ok();
    began.elapsed()
}

/// The moments: from before the message is sent to a little after the answer.
fn moments(whole: Duration) -> impl Iterator<Item = Duration> {
    (0..MOMENTS).map(move |moment| whole * moment / (MOMENTS - 4))
}

/// What a session of its own did is over when it is closed.
async fn close(world: &World, session: &str) {
    world.door().close(session).await.unwrap();
}

/// The version that is there: one of these, and no other file beside it.
async fn whole(world: &World, contents: [&str; 2]) -> String {
    let agent = world.agent().await;
    let version = agent.read_window("d/f", 1, 1).await.ok().get("version").to_owned();
    assert!(contents.map(version_of).contains(&version), "neither the old nor the new content is there");
    nothing_beside(world, &[b"f"]);
    version
}

fn nothing_beside(world: &World, names: &[&[u8]]) {
    // The command over memory has no hand; it has no temporary files either.
    if let Some(hand) = world.find_hand() {
        assert_eq!(hand.names(b"d"), names);
    }
}

async fn a_write_whose_caller_went_away_is_whole_or_not_there(world: World) {
    let (old, new) = contents();
    let took = duration_of_a_write(&world, &new).await;
    world.put("d/f", &old).await;
    for moment in moments(took) {
        let agent = world.agent().await;
        agent.read_window("d/f", 1, 1).await.ok();
        let message = execute_request(Some(agent.session()), Ask::of(write_call("d/f", &new)));
        let answer = tokio::time::timeout(moment, world.client().execute(message, None)).await;
        close(&world, agent.session()).await;
        let there = whole(&world, [&old, &new]).await;
        if let Ok(answer) = answer {
            assert_eq!(answer.unwrap().error, None);
            assert_eq!(there, version_of(&new), "the answer came, and the content is not there");
        }
        // The next write works.
        let next = world.agent().await;
        next.read_window("d/f", 1, 1).await.ok();
        next.write("d/f", &old).await.ok();
        world.expect("d/f", &old).await;
    }
}

async fn a_write_that_ran_out_of_time_is_whole_or_not_there(world: World) {
    let (old, new) = contents();
    let took = duration_of_a_write(&world, &new).await;
    world.put("d/f", &old).await;
    for moment in moments(took) {
        let agent = world.agent().await;
        agent.read_window("d/f", 1, 1).await.ok();
        let message = execute_request(Some(agent.session()), Ask::of(write_call("d/f", &new)));
        let answer = world.client().execute(message, Some(moment.max(Duration::from_millis(1)))).await;
        close(&world, agent.session()).await;
        let there = whole(&world, [&old, &new]).await;
        match answer {
            Ok(response) => {
                assert_eq!(response.error, None);
                assert_eq!(there, version_of(&new), "the answer came, and the content is not there");
            }
            Err(Error::Call(failure)) => {
                assert_eq!(failure.status().code(), tonic::Code::DeadlineExceeded, "{failure:?}");
                // Where the client's own timer was first, there is no error to tell.
                if failure.error().is_some_and(|error| error.published() == v1::Published::No) {
                    assert_eq!(there, version_of(&old), "nothing was to have changed");
                }
            }
            Err(other) => panic!("{other:?}"),
        }
        let next = world.agent().await;
        next.read_window("d/f", 1, 1).await.ok();
        next.write("d/f", &old).await.ok();
        world.expect("d/f", &old).await;
    }
}

async fn a_new_file_whose_caller_went_away_is_whole_or_not_there(world: World) {
    let (_, new) = contents();
    let took = duration_of_a_write(&world, &new).await;
    world.put("d/other", "").await;
    for (round, moment) in moments(took).enumerate() {
        let path = format!("d/f{round}");
        let agent = world.agent().await;
        let message = execute_request(Some(agent.session()), Ask::of(write_call(&path, &new)));
        let answer = tokio::time::timeout(moment, world.client().execute(message, None)).await;
        close(&world, agent.session()).await;
        let next = world.agent().await;
        let found = next.read_window(&path, 1, 1).await;
        match found.code() {
            "worked" => assert_eq!(found.ok().get("version"), version_of(&new)),
            code => assert_eq!((code, answer.is_ok()), ("FS_NOT_FOUND", false)),
        }
        next.write(&path, "next\n").await.ok();
        world.expect(&path, "next\n").await;
        if let Some(hand) = world.find_hand() {
            hand.remove(path.as_bytes());
        }
        nothing_beside(&world, &[b"other"]);
    }
}
