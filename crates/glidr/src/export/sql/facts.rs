//! Facts as a script that adds what the tables do not have yet.

use std::io::{self, Write};

use super::super::Known;
use super::text::quoted;

/// The longest name that a table can hold: a line of data has no longer one.
const LONGEST: usize = 1 << 20;
/// Rows of one INSERT.
const ROWS: usize = 200;

pub(in super::super) fn facts(known: &Known, out: &mut dyn Write) -> io::Result<()> {
    table("fact", ["head", "predicate", "tail"], known.triples(), out)?;
    table("has", ["entity", "property"], known.owned(), out)?;
    table("entity", ["name"], known.entities().map(|name| [name]), out)
}

/// Rows go to a table beside, and from there to their own if they are new.
fn table<'a, const N: usize>(
    name: &str,
    columns: [&str; N],
    rows: impl Iterator<Item = [&'a str; N]>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let typed = columns.map(|column| format!("{column} VARCHAR({LONGEST})")).join(", ");
    let (loaded, columns) = (format!("loaded_{name}"), columns.join(", "));
    writeln!(out, "CREATE TABLE IF NOT EXISTS {name} ({typed});\nDROP TABLE IF EXISTS {loaded};")?;
    writeln!(out, "CREATE TABLE {loaded} ({typed});")?;
    insert(&loaded, rows, out)?;
    writeln!(
        out,
        "INSERT INTO {name}\nSELECT {columns} FROM {loaded} EXCEPT SELECT {columns} FROM {name};\nDROP TABLE {loaded};"
    )
}

/// Writes rows in INSERTs of many.
fn insert<'a, const N: usize>(
    table: &str,
    rows: impl Iterator<Item = [&'a str; N]>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut count = 0;
    for row in rows {
        let start = if count % ROWS == 0 { format!("INSERT INTO {table} VALUES\n") } else { ",\n".into() };
        if count > 0 && count % ROWS == 0 {
            out.write_all(b";\n")?;
        }
        write!(out, "{start}({})", row.map(quoted).join(", "))?;
        count += 1;
    }
    if count > 0 { out.write_all(b";\n") } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rows_are_several_inserts() {
        let mut out = Vec::new();
        insert("t", (0..=ROWS).map(|_| ["a"]), &mut out).expect("written");
        let text = String::from_utf8_lossy(&out).into_owned();
        assert_eq!((text.matches("INSERT").count(), text.matches(';').count()), (2, 2));
        assert_eq!(text.matches("('a')").count(), ROWS + 1);
    }

    #[test]
    fn rows_are_added_where_they_are_new() {
        let mut out = Vec::new();
        table("has", ["entity", "property"], [["it's", "\\"]].into_iter(), &mut out).expect("written");
        let text = String::from_utf8_lossy(&out).into_owned();
        assert!(text.contains(r"('it''s', substr('\\', 1, 1));"), "{text}");
        assert!(
            text.contains("INSERT INTO has\nSELECT entity, property FROM loaded_has EXCEPT SELECT"),
            "{text}"
        );
        assert!(text.ends_with("DROP TABLE loaded_has;\n"), "{text}");
    }
}
