//! The table of three columns that rules look facts up in, and how SQL names are written.

use crate::error::{Error, Result};

/// Words that some of `SQLite`, `DuckDB`, Postgres and Spark SQL do not take as a name without quotes.
const RESERVED: &str = " add all alter analyse analyze and anti any array as asc asof asymmetric at authorization \
    autoincrement between binary both by case cast check collate collation column commit concurrently constraint \
    create cross current_catalog current_date current_role current_schema current_time current_timestamp current_user \
    default deferrable delete desc describe distinct div do drop else end escape except exists false fetch for foreign \
    freeze from full glob grant group having if ilike in index initially inner insert intersect into is isnull join \
    lambda lateral leading left like limit localtime localtimestamp minus natural not nothing notnull null offset on \
    only or order outer overlaps pivot pivot_longer pivot_wider placing positional primary qualify raise references \
    returning right rlike select semi session_user set show similar some summarize symmetric table tablesample then to \
    trailing transaction true union unique unpack unpivot update user using values variadic verbose when where window \
    with ";

/// What the rules script makes itself.
const MADE: [&str; 2] = ["rule", "derived"];

/// A table of facts: its name and its columns as SQL has them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FactTable {
    pub(super) name: String,
    /// Head, predicate, tail.
    pub(super) columns: [String; 3],
    /// Whether it is somebody's own, with no tables `has` and `entity` beside it.
    pub(super) is_own: bool,
}

impl Default for FactTable {
    /// The table that the facts script makes.
    fn default() -> Self {
        let columns = ["head", "predicate", "tail"].map(String::from);
        FactTable { name: "fact".into(), columns, is_own: false }
    }
}

impl FactTable {
    /// Somebody's own table, its name perhaps after that of its schema and a point, and its columns of head, predicate
    /// and tail with commas between. A name in double quotes is taken as it is, as in SQL; any other that SQL would not
    /// read as one word is put in quotes.
    ///
    /// ```
    /// use glidr::internals::export::FactTable;
    /// assert!(FactTable::parse("main.my_triples", "subject, verb, object").is_ok());
    /// let said = FactTable::parse("my_triples", "subject,object").unwrap_err().to_string();
    /// assert!(said.contains("three columns"), "{said}");
    /// ```
    pub fn parse(name: &str, columns: &str) -> Result<Self> {
        let (path, split) = (identifiers(name, '.')?, identifiers(columns, ',')?);
        let fail = |what: String| Err(Error::Setting(what));
        if let Some(made) = path.last().filter(|last| MADE.iter().any(|made| last.is(made))) {
            return fail(format!(
                "the script makes a view named {}, so the table of facts cannot have that name",
                made.written()
            ));
        }
        let Ok(columns) = <[Identifier; 3]>::try_from(split) else {
            return fail(format!(
                "a table of facts has three columns, head, predicate and tail, with commas between, but “{columns}” \
                 does not name three"
            ));
        };
        let [head, predicate, tail] = &columns;
        if head.same(predicate) || head.same(tail) || predicate.same(tail) {
            return fail(
                "a table of facts has three columns, but two of those given have the same name".into(),
            );
        }
        let written: Vec<String> = path.iter().map(Identifier::written).collect();
        let columns = columns.map(|column| column.written());
        Ok(FactTable { name: written.join("."), columns, is_own: true })
    }

    pub(super) fn head(&self) -> &str {
        &self.columns[0]
    }

    pub(super) fn predicate(&self) -> &str {
        &self.columns[1]
    }

    pub(super) fn tail(&self) -> &str {
        &self.columns[2]
    }

    /// Where the names of all entities stand: a table, or the ends of all facts.
    pub(super) fn entities(&self) -> String {
        if !self.is_own {
            return "entity".into();
        }
        let (name, head, tail) = (&self.name, self.head(), self.tail());
        format!(
            "(SELECT t.{head} AS name FROM {name} t UNION SELECT t.{tail} FROM {name} t WHERE t.{tail} IS NOT NULL)"
        )
    }
}

/// A name of SQL.
struct Identifier {
    name: String,
    /// Whether it was given in quotes.
    quoted: bool,
}

impl Identifier {
    fn is(&self, other: &str) -> bool {
        self.name.eq_ignore_ascii_case(other)
    }

    fn same(&self, other: &Identifier) -> bool {
        self.is(&other.name)
    }

    /// As every engine reads it: in double quotes where it must be.
    fn written(&self) -> String {
        let word = |sign: char| sign.is_ascii_alphanumeric() || sign == '_';
        let is_plain = self.name.chars().all(word)
            && !self.name.starts_with(|first: char| first.is_ascii_digit())
            && !RESERVED.contains(&format!(" {} ", self.name.to_ascii_lowercase()));
        if is_plain && !self.quoted {
            return self.name.clone();
        }
        format!("\"{}\"", self.name.replace('"', "\"\""))
    }
}

/// The names of a text, parted by a sign that stands outside of quotes.
fn identifiers(text: &str, between: char) -> Result<Vec<Identifier>> {
    let (mut parts, mut inside) = (vec![String::new()], false);
    for sign in text.chars() {
        inside ^= sign == '"';
        if sign == between && !inside {
            parts.push(String::new());
        } else if let Some(last) = parts.last_mut() {
            last.push(sign);
        }
    }
    parts.iter().map(|part| identifier(part.trim())).collect()
}

fn identifier(part: &str) -> Result<Identifier> {
    let fail = |what: &str| {
        let shown = part.escape_debug();
        Err(Error::Setting(format!("the name of a table or a column {what}, but “{shown}” is given")))
    };
    let inner = part.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let name = inner.map_or_else(|| part.to_owned(), |inner| inner.replace("\"\"", "\""));
    let pairs = inner.unwrap_or(part).replace("\"\"", "");
    if pairs.contains('"') || (inner.is_none() && part.contains('"')) {
        return fail("has quotes around it or none, and quotes within these are doubled");
    }
    if name.is_empty() {
        return fail("has at least one letter");
    }
    if name.contains(char::is_control) {
        return fail("holds no control characters");
    }
    Ok(Identifier { name, quoted: inner.is_some() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(name: &str, columns: &str) -> (String, [String; 3]) {
        let table = FactTable::parse(name, columns).expect("sound names");
        (table.name, table.columns)
    }

    #[test]
    fn plain_names_stay_and_others_are_put_in_quotes() {
        let (name, columns) = parsed("my.Triples", "subject, verb ,object");
        assert_eq!((name.as_str(), columns), ("my.Triples", ["subject", "verb", "object"].map(String::from)));
        let (name, columns) = parsed("my triples", "Order,\"from \"\"x\"\", y\",1st");
        assert_eq!(name, "\"my triples\"");
        assert_eq!(columns, ["\"Order\"", "\"from \"\"x\"\", y\"", "\"1st\""].map(String::from));
        assert_eq!(parsed("\"a.b\".\"T\"", "s,p,o").0, "\"a.b\".\"T\"");
    }

    #[test]
    fn a_hostile_name_stays_a_name() {
        assert_eq!(parsed("t; DROP TABLE t; --", "s,p,o").0, "\"t; DROP TABLE t; --\"");
        for (name, columns, part) in [
            ("a\"b", "s,p,o", "quotes"),
            ("\"a\" x \"b\"", "s,p,o", "quotes"),
            ("\"", "s,p,o", "quotes"),
            ("", "s,p,o", "at least one letter"),
            ("a..b", "s,p,o", "at least one letter"),
            ("a\0b", "s,p,o", "control"),
            ("t", "s,p", "three columns"),
            ("t", "s,p,o,x", "three columns"),
            ("t", "s,p,S", "same name"),
            ("main.Derived", "s,p,o", "makes a view"),
        ] {
            let said = FactTable::parse(name, columns).expect_err(name).to_string();
            assert!(said.contains(part), "{name:?} {columns:?}: {said}");
        }
    }
}
