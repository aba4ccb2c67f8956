//! The memory provider.
