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
}

impl Fault {
    /// Every fault.
    #[cfg(feature = "planted-faults")]
    pub const ALL: [Fault; 4] = [
        Fault::GateKeepsTheLast,
        Fault::GateTrustsTheUnseen,
        Fault::GateForgetsNothing,
        Fault::CallRemembersNothing,
    ];

    /// The name by which it is planted.
    #[cfg(feature = "planted-faults")]
    pub fn as_str(self) -> &'static str {
        match self {
            Fault::GateKeepsTheLast => "gate-keeps-the-last",
            Fault::GateTrustsTheUnseen => "gate-trusts-the-unseen",
            Fault::GateForgetsNothing => "gate-forgets-nothing",
            Fault::CallRemembersNothing => "call-remembers-nothing",
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
