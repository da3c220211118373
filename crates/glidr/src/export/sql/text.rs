//! Texts that `SQLite`, `DuckDB`, Postgres and Spark SQL read alike.

/// One backslash. A text of two of them is one in Spark and two in the others.
const BACKSLASH: &str = r"substr('\\', 1, 1)";

/// A name as an SQL expression. Quotes are doubled. A backslash is cut out of a text of two, and `${`, which Spark
/// would replace, is put together.
pub(in super::super) fn quoted(name: &str) -> String {
    let mut parts: Vec<String> = Vec::new();
    for (place, piece) in name.split('\\').enumerate() {
        if place > 0 {
            parts.push(BACKSLASH.into());
        }
        if !piece.is_empty() {
            parts.push(format!("'{}'", piece.replace('\'', "''").replace("${", "$' || '{")));
        }
    }
    match &parts[..] {
        [] => "''".into(),
        [one] if !one.contains("||") => one.clone(),
        _ => format!("({})", parts.join(" || ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_ends_a_text() {
        assert_eq!(quoted("uncle é"), "'uncle é'");
        assert_eq!(quoted("it's"), "'it''s'");
        assert_eq!(quoted(r"\"), r"substr('\\', 1, 1)");
        assert_eq!(quoted(r"a\'b"), r"('a' || substr('\\', 1, 1) || '''b')");
        assert_eq!(quoted("${x}"), "('$' || '{x}')");
    }
}
