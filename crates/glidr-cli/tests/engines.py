"""Runs exported facts and rules in one engine and prints what is derived: rule, head, tail, by tabs.

SQL scripts are run twice, and must leave the same both times. `…_own` looks facts up in one table of odd names; `…_rules`
prints number, confidence and text of each rule instead.
"""
import csv
import io
import re
import sys
from urllib.parse import unquote

engine, facts, rules = sys.argv[1:]
OWN = 'main."my ""odd"" triples; --"("the subject", "order", "o;bject")'


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def table(name):
    """The rows of a table of the folder of tables, without the header."""
    return list(csv.reader(io.StringIO(read(f"{facts}/{name}.csv"), newline="")))[1:]


def open_base(name):
    """Runs a script, and asks for rows."""
    if name == "sqlite":
        import sqlite3
        base = sqlite3.connect(":memory:")
        return base.executescript, base.execute
    import duckdb
    base = duckdb.connect()
    return base.execute, lambda *arguments: base.execute(*arguments).fetchall()


def sql(name, kind):
    run, ask = open_base(name)
    if kind == "own":
        run(f"CREATE TABLE {OWN.replace(',', ' VARCHAR,').replace(')', ' VARCHAR)')}")
        rows = table("fact") + [[*owned, None] for owned in table("has")]
        for at in range(0, len(rows), 100):
            some = rows[at:at + 100]
            values = ", ".join(["(?, ?, ?)"] * len(some))
            ask(f"INSERT INTO {OWN} VALUES {values}", [field for row in some for field in row])
    else:
        run(read(facts))
        def counts():
            return [list(ask(f"SELECT COUNT(*) FROM {each}")) for each in ["fact", "has", "entity"]]
        once = counts()
        run(read(facts))
        assert once == counts(), (once, counts())
    if name == "sqlite":  # as docs/export.md advises
        of, head, predicate, tail = ('"my ""odd"" triples; --"', '"the subject"', '"order"', '"o;bject"') if kind == "own" \
            else ("fact", "head", "predicate", "tail")
        run(f"CREATE INDEX heads ON {of} ({predicate}, {head}); CREATE INDEX tails ON {of} ({predicate}, {tail}); ANALYZE")
    asked = "number, confidence, text FROM rule" if kind == "rules" else "rule, head, tail FROM derived"
    left = []
    for _ in range(2):
        run(read(rules))
        left.append(sorted(ask(f"SELECT {asked}")))
        assert len(left[-1]) == len(set(left[-1])), "no row is there twice"
    assert left[0] == left[1], "the second run leaves what the first did"
    return left[0]


def nemo():
    import nmo_python
    engine = nmo_python.NemoEngine(nmo_python.load_string(read(facts) + read(rules)))
    engine.reason()
    signs = {"n": "\n", "r": "\r", "t": "\t"}
    plain = lambda text: re.sub(r"\\(.)", lambda sign: signs.get(sign[1], sign[1]), text[1:-1])
    return [(rule, plain(head), plain(tail)) for rule, head, _, tail in engine.result("derived")]


def oxigraph():
    import pyoxigraph
    store = pyoxigraph.Store()
    store.load(read(facts).encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
    store.update(read(rules))
    graph, entity = "urn:glidr:rule:", "urn:glidr:entity:"
    for quad in store:
        if str(quad.graph_name).startswith(f"<{graph}"):
            end = lambda node: unquote(node.value.removeprefix(entity), errors="strict")
            yield quad.graph_name.value.removeprefix(graph), end(quad.subject), end(quad.object)


sys.stdout.reconfigure(encoding="utf-8", newline="")
name, _, kind = engine.partition("_")
for row in sql(name, kind) if name in ("sqlite", "duckdb") else globals()[engine]():
    print(*row, sep="\t")
