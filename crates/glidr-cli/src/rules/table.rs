//! The table that rules as SQL look facts up in.

use clap::Args;
use glidr::internals::export::FactTable;

use crate::help::EXPERT;

/// A table of one's own, for SQL.
#[derive(Args)]
pub struct TableFlags {
    /// With --format sql: your own table of facts, perhaps with its schema [default: fact, which glidr export makes]
    #[arg(long, value_name = "TABLE", help_heading = EXPERT)]
    table: Option<String>,
    /// The columns of --table [default: head,predicate,tail]
    #[arg(long, value_name = "HEAD,PREDICATE,TAIL", requires = "table", help_heading = EXPERT)]
    columns: Option<String>,
}

impl TableFlags {
    /// The table that is named; an error where rules are not written as SQL.
    pub fn named(&self, is_sql: bool) -> anyhow::Result<Option<FactTable>> {
        let Some(table) = &self.table else { return Ok(None) };
        anyhow::ensure!(is_sql, "--table and --columns go with --format sql alone");
        let columns = self.columns.as_deref().unwrap_or("head,predicate,tail");
        Ok(Some(FactTable::parse(table, columns)?))
    }
}
