//! A rule as a picture: variables as nodes from X on the left to Y on the right, literals as arrows.

use glidr::rule::{Atom, Literal, Rule, RuleNames, Term};

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 340.0;
const RADIUS: f64 = 17.0;

/// The picture as SVG; atoms of one disjunction are drawn dashed.
pub fn picture(rule: &Rule, names: RuleNames, title: &str) -> String {
    let mut terms: Vec<Term> = vec![Term::X, Term::Y];
    for atom in rule.body().iter().flat_map(Literal::atoms) {
        let (a, b) = atom.terms();
        terms.extend([a, b]);
    }
    terms.sort_unstable();
    terms.dedup();
    let inner = terms.iter().filter(|term| !matches!(term, Term::X | Term::Y)).count();
    let place = |term: Term| -> (f64, f64) {
        let middle = HEIGHT / 2.0 + 15.0;
        match term {
            Term::X => (60.0, middle),
            Term::Y => (WIDTH - 60.0, middle),
            _ => {
                let number =
                    terms.iter().filter(|t| !matches!(t, Term::X | Term::Y)).position(|t| *t == term);
                let step = (WIDTH - 120.0) / (inner as f64 + 1.0);
                let number = number.unwrap_or(0);
                let side = if inner == 1 {
                    0.0
                } else if number.is_multiple_of(2) {
                    -1.0
                } else {
                    1.0
                };
                (60.0 + step * (number as f64 + 1.0), middle + side * 95.0)
            }
        }
    };
    let mut drawn = String::new();
    let mut own: Vec<(Term, String)> = Vec::new();
    let mut links: Vec<(Term, Term)> = Vec::new();
    for literal in rule.body() {
        let dashed = if literal.atoms().len() > 1 { " stroke-dasharray=\"6 4\"" } else { "" };
        for atom in literal.atoms() {
            match *atom {
                Atom::Own(property, a) => own.push((a, names.properties.name(property.0).to_owned())),
                Atom::Is(a, _) => own.push((a, atom.show(names))),
                Atom::Pair(predicate, a, b) => {
                    // Arrows between the same two lie side by side.
                    let both = (a.min(b), a.max(b));
                    let beside = links.iter().filter(|known| **known == both).count() as f64;
                    links.push(both);
                    drawn += &arrow(place(a), place(b), beside, names.predicates.name(predicate.0), dashed);
                }
            }
        }
    }
    for &term in &terms {
        let (x, y) = place(term);
        let name = match term {
            Term::X => "X".to_owned(),
            Term::Y => "Y".to_owned(),
            Term::Z(number) => format!("Z{number}"),
            Term::Constant(entity) => {
                names.entities.and_then(|names| names.get(entity.0)).unwrap_or("constant").to_owned()
            }
        };
        drawn += &format!(
            "<circle cx=\"{x:.0}\" cy=\"{y:.0}\" r=\"{RADIUS}\" fill=\"#fff\" stroke=\"#000\"/>\
             <text x=\"{x:.0}\" y=\"{:.0}\" text-anchor=\"middle\">{}</text>\n",
            y + 5.0,
            escaped(&name)
        );
        let has: Vec<&str> =
            own.iter().filter(|(of, _)| *of == term).map(|(_, name)| name.as_str()).collect();
        if !has.is_empty() {
            let y = y + RADIUS + 16.0;
            drawn += &format!(
                "<text x=\"{x:.0}\" y=\"{y:.0}\" text-anchor=\"middle\" font-style=\"italic\">{}</text>\n",
                escaped(&has.join(", "))
            );
        }
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" \
         height=\"{HEIGHT}\" font-family=\"sans-serif\" font-size=\"13\">\n\
         <rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n\
         <defs><marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" \
         orient=\"auto\"><path d=\"M0 0L10 5L0 10z\"/></marker></defs>\n\
         <text x=\"12\" y=\"20\">{}</text>\n{drawn}</svg>\n",
        escaped(title)
    )
}

fn arrow((ax, ay): (f64, f64), (bx, by): (f64, f64), beside: f64, name: &str, dashed: &str) -> String {
    let (dx, dy) = (bx - ax, by - ay);
    let length = dx.hypot(dy).max(1.0);
    // Always bent to the same side of the pair, whichever way the arrow points.
    let turn = if (dx, dy) < (0.0, 0.0) { -1.0 } else { 1.0 };
    let bend = 36.0 * beside * turn;
    let (cx, cy) = (f64::midpoint(ax, bx) - dy / length * bend, f64::midpoint(ay, by) + dx / length * bend);
    let away = |(x, y): (f64, f64)| {
        let (dx, dy) = (cx - x, cy - y);
        let length = dx.hypot(dy).max(1.0);
        (x + dx / length * (RADIUS + 2.0), y + dy / length * (RADIUS + 2.0))
    };
    let ((ax, ay), (bx, by)) = (away((ax, ay)), away((bx, by)));
    format!(
        "<path d=\"M{ax:.0} {ay:.0}Q{cx:.0} {cy:.0} {bx:.0} {by:.0}\" fill=\"none\" stroke=\"#0072b2\" \
         stroke-width=\"1.5\" marker-end=\"url(#tip)\"{dashed}/>\
         <text x=\"{:.0}\" y=\"{:.0}\" text-anchor=\"middle\" fill=\"#0072b2\">{}</text>\n",
        f64::midpoint(f64::midpoint(ax, bx), cx),
        f64::midpoint(f64::midpoint(ay, by), cy) - 5.0,
        escaped(name)
    )
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

#[cfg(test)]
mod tests {
    use super::*;
    use glidr::Generator;

    #[test]
    fn a_picture_names_every_variable_predicate_and_property() {
        let made = Generator { entities: 300, facts: 3000, instances: 60, ..Generator::default() };
        let made = made.run().expect("sound settings");
        let names = made.data.names();
        let names =
            RuleNames { predicates: &names.predicates, properties: &names.properties, entities: None };
        for rule in &made.rules {
            let svg = picture(rule, names, &made.show(rule));
            let literals: usize = rule.body().iter().map(|literal| literal.atoms().len()).sum();
            let own = usize::from(svg.contains("font-style"));
            assert_eq!(svg.matches("marker-end").count() + own, literals, "{svg}");
            assert_eq!(svg.matches("<circle").count(), rule.variables());
        }
    }
}
