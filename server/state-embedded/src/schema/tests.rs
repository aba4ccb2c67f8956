use super::*;

fn version(connection: &Connection) -> i32 {
    connection.pragma_query_value(None, "user_version", |row| row.get(0)).unwrap()
}

#[test]
fn each_step_is_taken_once_and_in_order() {
    let mut connection = Connection::open_in_memory().unwrap();
    let steps = [
        "CREATE TABLE a (x)",
        "INSERT INTO a VALUES (1)",
        "ALTER TABLE a ADD COLUMN y; UPDATE a SET y = x + 1",
    ];
    for known in 1..=steps.len() {
        for _ in 0..2 {
            migrate(&mut connection, &steps[..known]).unwrap();
            assert_eq!(version(&connection), version_of(known));
        }
    }
    let row: (i32, i32) =
        connection.query_row("SELECT x, y FROM a", [], |row| Ok((row.get(0)?, row.get(1)?))).unwrap();
    assert_eq!(row, (1, 2));
}

#[test]
fn a_step_that_fails_leaves_the_version_before_it_whole() {
    let mut connection = Connection::open_in_memory().unwrap();
    let steps = ["CREATE TABLE a (x)", "INSERT INTO a VALUES (1); INSERT INTO nowhere VALUES (1)"];
    assert!(migrate(&mut connection, &steps).is_err());
    assert_eq!(version(&connection), 1);
    let rows: i32 = connection.query_row("SELECT count(*) FROM a", [], |row| row.get(0)).unwrap();
    assert_eq!(rows, 0);
}
