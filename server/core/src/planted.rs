//! Faults that the proofs plant, to see that they would find them.
//!
//! They exist only with the feature `planted-faults`, and bite only when one is named at run time. Without the feature
//! every question here is `false` while compiling, and no fault has a name. No shipped build has the feature.

/// A fault that can be planted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// `gate-keeps-the-last`: the memory of observations keeps what was recorded last instead of the highest order.
    GateKeepsTheLast,
    /// `gate-trusts-the-unseen`: a write of what was not seen is unconditional.
    GateTrustsTheUnseen,
    /// `gate-forgets-nothing`: forgetting changes nothing.
    GateForgetsNothing,
    /// `call-remembers-nothing`: a repeated `request_id` is a new call.
    CallRemembersNothing,
    /// `publish-skips-directory-sync`: the directory of a published file is not made durable.
    PublishSkipsDirectorySync,
    /// `publish-ignores-sync-error`: a failed fsync of a new content counts as done.
    PublishIgnoresSyncError,
    /// `publish-skips-verification`: what a publication displaced is removed unseen.
    PublishSkipsVerification,
    /// `publish-tears-in-place`: a file is truncated and written where it stands.
    PublishTearsInPlace,
    /// `resolve-trusts-realpath`: a path is judged by its real path and opened by its name afterwards.
    ResolveTrustsRealpath,
    /// `recover-nothing`: what a crash left behind is not looked for.
    RecoverNothing,
    /// `version-is-metadata`: the version of a file on a disk is its size and the time of its last change, not its
    /// content.
    VersionIsMetadata,
    /// `guard-trusts-the-pass`: a guard is judged by what a pass over the file learned before, as long as `stat` says
    /// the same.
    GuardTrustsThePass,
    /// `edit-unifies-line-ends`: an edit gives every line of the file the same line end.
    EditUnifiesLineEnds,
    /// `replace-drops-attributes`: a replacement has none of the extended attributes of the file.
    ReplaceDropsAttributes,
    /// `replace-drops-mode`: a replacement has the mode of a new file.
    ReplaceDropsMode,
    /// `publish-releases-lock`: the turn with a file, in the process and on the host, is given up before its new content
    /// is made and put in its place.
    PublishReleasesLock,
    /// `abort-keeps-the-turn`: a change that is given up keeps its turn with the file.
    AbortKeepsTheTurn,
    /// `edit-holds-the-file`: an edit holds the whole file in memory, however large it is.
    EditHoldsTheFile,
    /// `lock-drops-a-waited-entry`: a target's entry among the turns goes with whoever leaves first.
    LockDropsAWaitedEntry,
    /// `lock-keeps-its-entry`: a target's entry among the turns stays.
    LockKeepsItsEntry,
    /// `lock-order-inverted`: a reader waits for the verdict with the table of turns locked, and a writer before its
    /// verdict for the table.
    LockOrderInverted,
    /// `turn-drops-a-waited-place`: a place where turns are taken goes with whoever leaves first.
    TurnDropsAWaitedPlace,
    /// `session-trusts-its-handle`: a call that was counted in does not look whether the session is still there.
    SessionTrustsItsHandle,
    /// `session-ends-under-its-calls`: a removed session is ended while calls are in it.
    SessionEndsUnderItsCalls,
    /// `edit-eats-the-last-character`: the text that an edit puts in place lacks its last character.
    EditEatsTheLastCharacter,
    /// `abort-leaves-temporary`: a change that is given up right before it is published leaves its temporary file.
    AbortLeavesTemporary,
    /// `state-keeps-to-itself`: a server writes behind although others serve the same state.
    StateKeepsToItself,
}

impl Fault {
    /// Every fault.
    #[cfg(feature = "planted-faults")]
    pub const ALL: [Fault; 27] = [
        Fault::GateKeepsTheLast,
        Fault::GateTrustsTheUnseen,
        Fault::GateForgetsNothing,
        Fault::CallRemembersNothing,
        Fault::PublishSkipsDirectorySync,
        Fault::PublishIgnoresSyncError,
        Fault::PublishSkipsVerification,
        Fault::PublishTearsInPlace,
        Fault::ResolveTrustsRealpath,
        Fault::RecoverNothing,
        Fault::VersionIsMetadata,
        Fault::GuardTrustsThePass,
        Fault::EditUnifiesLineEnds,
        Fault::ReplaceDropsAttributes,
        Fault::ReplaceDropsMode,
        Fault::PublishReleasesLock,
        Fault::AbortKeepsTheTurn,
        Fault::EditHoldsTheFile,
        Fault::LockDropsAWaitedEntry,
        Fault::LockKeepsItsEntry,
        Fault::LockOrderInverted,
        Fault::TurnDropsAWaitedPlace,
        Fault::SessionTrustsItsHandle,
        Fault::SessionEndsUnderItsCalls,
        Fault::EditEatsTheLastCharacter,
        Fault::AbortLeavesTemporary,
        Fault::StateKeepsToItself,
    ];

    /// The name by which it is planted.
    #[cfg(feature = "planted-faults")]
    pub fn as_str(self) -> &'static str {
        match self {
            Fault::GateKeepsTheLast => "gate-keeps-the-last",
            Fault::GateTrustsTheUnseen => "gate-trusts-the-unseen",
            Fault::GateForgetsNothing => "gate-forgets-nothing",
            Fault::CallRemembersNothing => "call-remembers-nothing",
            Fault::PublishSkipsDirectorySync => "publish-skips-directory-sync",
            Fault::PublishIgnoresSyncError => "publish-ignores-sync-error",
            Fault::PublishSkipsVerification => "publish-skips-verification",
            Fault::PublishTearsInPlace => "publish-tears-in-place",
            Fault::ResolveTrustsRealpath => "resolve-trusts-realpath",
            Fault::RecoverNothing => "recover-nothing",
            Fault::VersionIsMetadata => "version-is-metadata",
            Fault::GuardTrustsThePass => "guard-trusts-the-pass",
            Fault::EditUnifiesLineEnds => "edit-unifies-line-ends",
            Fault::ReplaceDropsAttributes => "replace-drops-attributes",
            Fault::ReplaceDropsMode => "replace-drops-mode",
            Fault::PublishReleasesLock => "publish-releases-lock",
            Fault::AbortKeepsTheTurn => "abort-keeps-the-turn",
            Fault::EditHoldsTheFile => "edit-holds-the-file",
            Fault::LockDropsAWaitedEntry => "lock-drops-a-waited-entry",
            Fault::LockKeepsItsEntry => "lock-keeps-its-entry",
            Fault::LockOrderInverted => "lock-order-inverted",
            Fault::TurnDropsAWaitedPlace => "turn-drops-a-waited-place",
            Fault::SessionTrustsItsHandle => "session-trusts-its-handle",
            Fault::SessionEndsUnderItsCalls => "session-ends-under-its-calls",
            Fault::EditEatsTheLastCharacter => "edit-eats-the-last-character",
            Fault::AbortLeavesTemporary => "abort-leaves-temporary",
            Fault::StateKeepsToItself => "state-keeps-to-itself",
        }
    }

    /// The fault of that name.
    #[cfg(feature = "planted-faults")]
    pub fn parse(name: &str) -> Option<Fault> {
        Fault::ALL.into_iter().find(|fault| fault.as_str() == name)
    }

    /// Whether this fault is planted in this process.
    #[cfg(feature = "planted-faults")]
    pub fn is_planted(self) -> bool {
        PLANTED.get() == Some(&self)
    }

    /// Whether this fault is planted in this process: never, in a build like this one.
    #[cfg(not(feature = "planted-faults"))]
    pub const fn is_planted(self) -> bool {
        false
    }

    /// Plants this fault for the rest of the process. The first one stays.
    #[cfg(feature = "planted-faults")]
    pub fn plant(self) {
        let _ = PLANTED.set(self);
    }
}

#[cfg(feature = "planted-faults")]
static PLANTED: std::sync::OnceLock<Fault> = std::sync::OnceLock::new();
