//! State in an embedded SQLite database: sessions, observations and the results of calls.
