"""Runs exported facts and rules in one engine and prints what is derived: rule, head, tail, by tabs."""
import csv
import io
import re
import sys
from urllib.parse import unquote

engine, facts, rules = sys.argv[1:]


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def sqlite():
    import sqlite3
    base = sqlite3.connect(":memory:")
    base.executescript(read(facts))
    base.executescript(read(rules))
    return base.execute("SELECT rule, head, tail FROM derived")


def duckdb():
    import duckdb
    base = duckdb.connect()
    for table in ["fact", "has", "entity", "odd_name"]:
        base.execute(f"""CREATE TABLE {table} AS FROM read_csv('{facts}/{table}.csv', header = true,
            all_varchar = true, auto_detect = false, delim = ',', quote = '"', escape = '"',
            columns = {columns(f'{facts}/{table}.csv')})""")
    base.execute(read(rules))
    return base.execute("SELECT rule, head, tail FROM derived").fetchall()


def columns(path):
    header = next(csv.reader(io.StringIO(read(path))))
    return "{" + ", ".join(f"'{name}': 'VARCHAR'" for name in header) + "}"


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
for row in globals()[engine]():
    print(*row, sep="\t")
