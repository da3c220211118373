"""Runs exported facts and constraints in one engine and prints what breaks a constraint: number, head, tail, by tabs.

`owl` prints the numbers of the axioms that OWL 2 RL finds broken, or that make two entities one.
"""
import re
import sys
from urllib.parse import unquote

engine, facts, constraints = sys.argv[1:]
ENTITY = "urn:glidr:entity:"


def read(path):
    with open(path, encoding="utf-8", newline="") as file:
        return file.read()


def name(node):
    return unquote(str(node).removeprefix(ENTITY), errors="strict")


def sqlite():
    import sqlite3
    base = sqlite3.connect(":memory:")
    base.executescript(read(facts))
    for _ in range(2):
        base.executescript(read(constraints))
    assert list(base.execute("SELECT number FROM denial WHERE confidence = 1.0")), "denials are listed"
    return base.execute("SELECT denial, head, tail FROM violation")


def duckdb():
    import duckdb
    base = duckdb.connect()
    base.execute(read(facts))
    base.execute(read(constraints))
    return base.execute("SELECT denial, head, tail FROM violation").fetchall()


def oxigraph():
    import pyoxigraph
    store = pyoxigraph.Store()
    store.load(read(facts).encode(), format=pyoxigraph.RdfFormat.N_TRIPLES)
    for row in store.query(read(constraints)):
        yield row["constraint"].value, name(row["head"].value), name(row["tail"].value)


def shacl():
    """Each shape alone. A result about a count or a kind is about all facts of its focus node."""
    import pyshacl
    import rdflib
    sh = rdflib.Namespace("http://www.w3.org/ns/shacl#")
    data = rdflib.Graph().parse(facts, format="nt")
    prefixes, *shapes = re.split(r"\n(?=<urn:glidr:constraint:)", read(constraints))
    for shape in shapes:
        number = re.match(r"<urn:glidr:constraint:(\d+)>", shape)[1]
        graph = rdflib.Graph().parse(data=prefixes + shape, format="turtle")
        _, results, _ = pyshacl.validate(data, shacl_graph=graph, advanced=True)
        end, predicate = re.search(r"sh:target(Subjects|Objects)Of <([^>]*)>", shape).groups()
        for result in results.subjects(rdflib.RDF.type, sh.ValidationResult):
            focus, value = results.value(result, sh.focusNode), results.value(result, sh.value)
            if "sh:disjoint" in shape or "sh:sparql" in shape:
                yield number, name(focus), name(value)
                continue
            ends = (focus, None) if end == "Subjects" else (None, focus)
            for head, _, tail in data.triples((ends[0], rdflib.URIRef(predicate), ends[1])):
                yield number, name(head), name(tail)


def owl():
    import owlrl
    import rdflib
    prefixes, *axioms = re.split(r"\n\n(?=# )", read(constraints))
    for number, axiom in enumerate(axioms, 1):
        graph = rdflib.Graph().parse(facts, format="nt")
        before = len(graph)
        graph.parse(data=f"{prefixes}\n{axiom}\n", format="turtle")
        assert len(graph) > before, axiom
        owlrl.DeductiveClosure(owlrl.OWLRL_Semantics).expand(graph)
        errors = [p for p in set(graph.predicates()) if str(p).endswith("#error")]
        same = [1 for a, b in graph.subject_objects(rdflib.OWL.sameAs) if a != b and str(a).startswith(ENTITY)]
        if errors or same:
            yield number, "", ""


sys.stdout.reconfigure(encoding="utf-8", newline="")
for row in sorted(set(map(tuple, globals()[engine]()))):
    print(*row, sep="\t")
