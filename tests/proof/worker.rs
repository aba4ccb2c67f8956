//! A disk provider in a process of its own, which proofs kill, starve and trace.
//!
//! The process reads requests as lines of JSON and answers each with one. With one thread all of its work on files
//! happens on one thread, whose id it tells, and in the order of the requests, so that a tracer can count the calls.

mod message;
mod serve;
mod settings;

use std::collections::HashMap;
use std::io::{self, BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender, TryRecvError};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::Duration;

use rustix::io::retry_on_intr;
use rustix::process::{Pid, Signal, WaitId, WaitIdOptions, kill_process, waitid};

pub(crate) use self::message::{Answer, Call, Failure, Guard, Outcome};
use self::message::{Ready, Request};
pub(crate) use self::settings::Settings;
use crate::Part;

pub(crate) const PART: Part = Part { name: "worker", run: serve::run };

/// How long a worker may take for anything before it counts as stuck.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running worker. It is killed when it is dropped.
#[derive(Debug)]
pub(crate) struct Worker {
    child: Child,
    /// The process that serves: another one than `child` under a prefix that does not become it.
    pub(crate) pid: Pid,
    /// The thread that works on files, where there is but one.
    pub(crate) file_thread: Option<Pid>,
    input: Mutex<Input>,
    answers: Arc<Mutex<Waiting>>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Input {
    /// Absent once the worker is to end.
    lines: Option<ChildStdin>,
    next: u64,
}

/// Who waits for which answer; absent once there will be none.
type Waiting = Option<HashMap<u64, Sender<Answer>>>;

/// The worker ended before it answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Gone;

/// An answer that is on its way.
#[derive(Debug)]
pub(crate) struct Pending(Receiver<Answer>);

impl Pending {
    /// Waits for it.
    ///
    /// # Panics
    /// When the worker neither answers nor ends.
    pub(crate) fn wait(self) -> Result<Answer, Gone> {
        self.wait_for(PATIENCE).expect("a worker answers or ends")
    }

    /// Waits for it so long; nothing when the worker neither answered nor ended.
    pub(crate) fn wait_for(&self, time: Duration) -> Option<Result<Answer, Gone>> {
        match self.0.recv_timeout(time) {
            Ok(answer) => Some(Ok(answer)),
            Err(RecvTimeoutError::Disconnected) => Some(Err(Gone)),
            Err(RecvTimeoutError::Timeout) => None,
        }
    }

    /// The answer, or that there is none any more, when that is known already.
    pub(crate) fn poll(&self) -> Option<Result<Answer, Gone>> {
        match self.0.try_recv() {
            Ok(answer) => Some(Ok(answer)),
            Err(TryRecvError::Disconnected) => Some(Err(Gone)),
            Err(TryRecvError::Empty) => None,
        }
    }
}

impl Worker {
    /// Starts a worker and waits until it serves.
    ///
    /// # Errors
    /// What it said when it ended instead.
    pub(crate) fn start(settings: &Settings) -> Result<Worker, String> {
        let own = std::env::current_exe().unwrap();
        let mut command = match settings.prefix.split_first() {
            None => Command::new(own),
            Some((program, arguments)) => {
                let mut command = Command::new(program);
                command.args(arguments).arg(own);
                command
            }
        };
        command.arg(PART.name).args(settings.to_arguments());
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| format!("{command:?}: {error}"))?;
        let lines = child.stdin.take();
        let mut output = BufReader::new(child.stdout.take().unwrap());
        let mut first = String::new();
        let read = output.read_line(&mut first);
        let Some(ready) = read.ok().and_then(|_| serde_json::from_str::<Ready>(&first).ok()) else {
            let _ = child.kill();
            return Err(format!("{}: {first}", child.wait().unwrap()));
        };
        let answers = Arc::new(Mutex::new(Some(HashMap::new())));
        let reader = {
            let answers = Arc::clone(&answers);
            std::thread::spawn(move || read_answers(output, &answers))
        };
        let pid = |number| Pid::from_raw(number).unwrap();
        Ok(Worker {
            child,
            pid: pid(ready.pid),
            file_thread: ready.file_thread.map(pid),
            input: Mutex::new(Input { lines, next: 1 }),
            answers,
            reader: Some(reader),
        })
    }

    /// Sends a call. It may be answered before or after others that were sent.
    pub(crate) fn send(&self, call: Call) -> Pending {
        let (answered, answer) = mpsc::channel();
        let mut input = self.input.lock().unwrap();
        let id = input.next;
        input.next += 1;
        if let Some(waiting) = self.answers.lock().unwrap().as_mut() {
            waiting.insert(id, answered);
        }
        let line = serde_json::to_string(&Request { id, call }).unwrap();
        if let Some(lines) = &mut input.lines {
            // Who has gone does not answer, and that is what is told.
            let _ = writeln!(lines, "{line}");
        }
        Pending(answer)
    }

    /// Calls and waits for the answer.
    pub(crate) fn call(&self, call: Call) -> Result<Answer, Gone> {
        self.send(call).wait()
    }

    /// Kills the serving process at once, and waits until it is dead: only then are its locks gone.
    pub(crate) fn kill(&self) {
        // It may have ended by itself: that is as good.
        let _ = kill_process(self.pid, Signal::KILL);
        let left_to_be_waited_for = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
        let _ = retry_on_intr(|| waitid(WaitId::Pid(Pid::from_child(&self.child)), left_to_be_waited_for));
    }

    /// Waits until the process has ended by itself, or was killed.
    pub(crate) fn wait(mut self) -> ExitStatus {
        self.end()
    }

    /// Lets the worker finish what it began, and end.
    pub(crate) fn stop(mut self) -> ExitStatus {
        self.input.lock().unwrap().lines = None;
        self.end()
    }

    fn end(&mut self) -> ExitStatus {
        let status = self.child.wait().unwrap();
        if let Some(reader) = self.reader.take() {
            let _ = reader.join();
        }
        status
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        if self.reader.is_some() {
            self.kill();
            self.end();
        }
    }
}

/// Hands answers out until the worker ends.
fn read_answers(output: BufReader<ChildStdout>, answers: &Mutex<Waiting>) {
    for line in output.lines() {
        // What a process that was killed said by half is no answer.
        let Some(answer) = line.ok().and_then(|line| serde_json::from_str::<Answer>(&line).ok()) else {
            break;
        };
        let waiting = answers.lock().unwrap().as_mut().and_then(|waiting| waiting.remove(&answer.id));
        if let Some(waiting) = waiting {
            let _ = waiting.send(answer);
        }
    }
    *answers.lock().unwrap() = None;
}

/// The lines that a worker reads.
fn requests() -> impl Iterator<Item = Request> {
    io::stdin().lines().map_while(|line| serde_json::from_str(&line.ok()?).ok())
}
