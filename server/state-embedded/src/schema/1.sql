-- Version 1. What is only compared is kept as a digest: rows are small and equally long, and no path is in the file.

-- One row: what would be costly to count.
CREATE TABLE tally (
    id INTEGER PRIMARY KEY CHECK (id = 1),
    -- The number of the last removal of a session, see removal.rs.
    removal INTEGER NOT NULL,
    -- Rows of observed_session and observation, kept by triggers.
    facts INTEGER NOT NULL,
    -- Observations of any session at or below this order are gone.
    floor INTEGER NOT NULL,
    -- The sum of call.bytes, kept by triggers.
    call_bytes INTEGER NOT NULL
) STRICT;
INSERT INTO tally (id, removal, facts, floor, call_bytes) VALUES (1, 0, 0, -9223372036854775808, 0);

-- Sessions that saw or forgot something. A session is its digest here.
CREATE TABLE observed_session (
    session BLOB PRIMARY KEY,
    -- Observations at or below this order are gone: forgotten, or dropped to make room.
    floor INTEGER NOT NULL,
    -- Rows of observation, kept by triggers.
    facts INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- What sessions saw and forgot. Each row is above both floors.
CREATE TABLE observation (
    session BLOB NOT NULL,
    target BLOB NOT NULL,
    seen_order INTEGER NOT NULL,
    -- 0: forgotten, 1: absent, 2: present.
    kind INTEGER NOT NULL CHECK (kind IN (0, 1, 2)),
    version TEXT CHECK ((version IS NOT NULL) = (kind = 2)),
    PRIMARY KEY (session, target)
) STRICT, WITHOUT ROWID;
CREATE INDEX observation_by_order ON observation (seen_order);

CREATE TRIGGER observation_added AFTER INSERT ON observation BEGIN
    UPDATE observed_session SET facts = facts + 1 WHERE session = new.session;
    UPDATE tally SET facts = facts + 1;
END;
CREATE TRIGGER observation_dropped AFTER DELETE ON observation BEGIN
    UPDATE observed_session SET facts = facts - 1 WHERE session = old.session;
    UPDATE tally SET facts = facts - 1;
END;
CREATE TRIGGER observed_session_added AFTER INSERT ON observed_session BEGIN
    UPDATE tally SET facts = facts + 1;
END;
CREATE TRIGGER observed_session_dropped AFTER DELETE ON observed_session BEGIN
    UPDATE tally SET facts = facts - 1;
END;

-- Sessions for which nothing is recorded any more. The oldest marks make room.
CREATE TABLE ended_session (
    serial INTEGER PRIMARY KEY AUTOINCREMENT,
    session BLOB NOT NULL UNIQUE
) STRICT;

CREATE TABLE session (
    serial INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE,
    name TEXT NOT NULL UNIQUE,
    owner TEXT NOT NULL,
    -- What is not searched for, as JSON.
    detail TEXT NOT NULL,
    created INTEGER NOT NULL,
    last_used INTEGER NOT NULL
) STRICT;
CREATE INDEX session_by_owner ON session (owner, serial);
CREATE INDEX session_by_use ON session (last_used, serial);

-- Removed sessions whose end is left to do.
CREATE TABLE ending_session (
    serial INTEGER PRIMARY KEY AUTOINCREMENT,
    key TEXT NOT NULL UNIQUE
) STRICT;

-- Digests of the names that sessions ever had. Never pruned: a name is not used again.
CREATE TABLE used_name (
    name BLOB PRIMARY KEY
) STRICT, WITHOUT ROWID;

CREATE TABLE call (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    session BLOB NOT NULL,
    request TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    -- The server that noted it last (empty: it left the call to whoever repeats it), when, and the first guard (JSON).
    instance TEXT,
    guard TEXT,
    begun INTEGER,
    -- Set together when it ended.
    ended INTEGER,
    result BLOB,
    bytes INTEGER NOT NULL,
    UNIQUE (session, request),
    CHECK ((ended IS NULL) = (result IS NULL)),
    CHECK (ended IS NOT NULL OR (instance IS NOT NULL AND guard IS NOT NULL AND begun IS NOT NULL))
) STRICT;
CREATE INDEX call_by_end ON call (ended, id) WHERE ended IS NOT NULL;
CREATE INDEX call_by_begin ON call (begun, instance) WHERE ended IS NULL;

CREATE TRIGGER call_added AFTER INSERT ON call BEGIN
    UPDATE tally SET call_bytes = call_bytes + new.bytes;
END;
CREATE TRIGGER call_changed AFTER UPDATE OF bytes ON call BEGIN
    UPDATE tally SET call_bytes = call_bytes - old.bytes + new.bytes;
END;
CREATE TRIGGER call_dropped AFTER DELETE ON call BEGIN
    UPDATE tally SET call_bytes = call_bytes - old.bytes;
END;
