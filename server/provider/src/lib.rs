//! The provider seam: what the tool executor needs from a place that keeps files.
//!
//! A provider resolves paths, reads, lists and publishes guarded mutations. It knows no session, no model and no
//! rendering. [`Provider`] is the contract, [`memory`] its reference implementation, and the feature `conformance`
//! brings the one suite that every implementation and every wrapper must pass, and a wrapper that fails by script.
//! Deliberately absent: any choice of a guard, which is the policy gate's.

pub mod abort;
pub mod capability;
pub mod content;
mod ext;
mod forward;
pub mod memory;
pub mod operation;
pub mod patience;
mod provider;
pub mod refusal;
pub mod report;
pub mod request;

#[cfg(feature = "conformance")]
pub mod conformance;
#[cfg(feature = "conformance")]
pub mod faulty;

pub use ext::ProviderExt;
pub use provider::Provider;
