//! A provider that fails by script.
