//! SVG, drawn by our own layout: rules have at most nine variables, and X and Y have their places.

use super::Picture;
use super::layout::{Area, RADIUS, area, curves, half_box, labels, places};

/// A text as XML has it; signs that XML cannot hold are replaced.
fn escaped(text: &str) -> String {
    let letter = |sign: char| match sign {
        '&' => "&amp;".into(),
        '<' => "&lt;".into(),
        '>' => "&gt;".into(),
        '"' => "&quot;".into(),
        '\'' => "&#39;".into(),
        sign if sign.is_control() || matches!(sign, '\u{fffe}' | '\u{ffff}') => '\u{fffd}'.to_string(),
        sign => sign.to_string(),
    };
    text.chars().map(letter).collect()
}

fn label(text: &str, (x, y): (f64, f64), class: &str) -> String {
    format!("  <text class=\"{class}\" x=\"{x:.1}\" y=\"{:.1}\">{}</text>\n", y + 4.5, escaped(text))
}

pub(super) fn write(picture: &Picture) -> String {
    let places = places(picture);
    let curves = curves(picture, &places);
    let mut taken: Vec<Area> = Vec::new();
    let mut texts: Vec<(String, (f64, f64), &str)> = Vec::new();
    for (node, &(x, y)) in picture.nodes.iter().zip(&places) {
        let wide = half_box(node).map_or(RADIUS, |(wide, _)| wide);
        taken.push([x - wide, y - RADIUS, x + wide, y + RADIUS]);
        for (line, property) in node.properties.iter().enumerate() {
            // Above the upper half and below the rest, so that no arrow runs through.
            let step = RADIUS + 14.0 + 18.0 * line as f64;
            let middle = (x, if y < -1.0 { y - step } else { y + step });
            taken.push(area(property, middle));
            texts.push((property.clone(), middle, "own"));
        }
        texts.push((node.label.clone(), (x, y), "node"));
    }
    let middles = labels(picture, &curves, taken.clone());
    for (arrow, &middle) in picture.arrows.iter().zip(&middles) {
        taken.push(area(&arrow.label, middle));
        texts.push((arrow.label.clone(), middle, "arrow"));
    }
    let top = taken.iter().map(|area| area[1]).fold(0.0, f64::min) - 34.0;
    let caption = [vec![picture.caption.clone()], picture.notes.clone()].concat().join(", ");
    taken.push(area(&caption, (0.0, top)));
    texts.push((caption, (0.0, top), "caption"));
    let side = |place: usize, most: fn(f64, f64) -> f64| {
        taken.iter().map(|area| area[place]).reduce(most).unwrap_or(0.0)
    };
    let (left, up) = (side(0, f64::min) - 16.0, side(1, f64::min) - 16.0);
    let (wide, high) = (side(2, f64::max) + 16.0 - left, side(3, f64::max) + 16.0 - up);

    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.0}\" height=\"{high:.0}\" \
         viewBox=\"{left:.1} {up:.1} {wide:.1} {high:.1}\">\n  <title>{}</title>\n",
        escaped(&picture.text)
    );
    text += "  <style>text { font: 13px sans-serif; text-anchor: middle; fill: #222 } \
        .arrow, .own { paint-order: stroke; stroke: #fff; stroke-width: 5px; stroke-linejoin: round } \
        .own { font-style: italic; fill: #456 } .node { font-weight: bold } .caption { font-size: 15px } \
        path { fill: none; stroke: #555; stroke-width: 1.4 } circle, rect.node { fill: #f4f6fa; stroke: #333; \
        stroke-width: 1.4 } .end { fill: #dfe9fb }</style>\n";
    text += "  <defs><marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" \
        markerHeight=\"8\" orient=\"auto\"><path d=\"M0 0 L10 5 L0 10 z\" style=\"fill: #555; stroke: none\"/>\
        </marker></defs>\n";
    text += &format!(
        "  <rect x=\"{left:.1}\" y=\"{up:.1}\" width=\"{wide:.1}\" height=\"{high:.1}\" fill=\"#fff\"/>\n"
    );
    for [a, b, c] in &curves {
        text += &format!(
            "  <path d=\"M{:.1} {:.1} Q{:.1} {:.1} {:.1} {:.1}\" marker-end=\"url(#tip)\"/>\n",
            a.0, a.1, b.0, b.1, c.0, c.1
        );
    }
    for (number, (node, &(x, y))) in picture.nodes.iter().zip(&places).enumerate() {
        text += &if let Some((wide, high)) = half_box(node) {
            let (left, top, wide, high) = (x - wide, y - high, 2.0 * wide, 2.0 * high);
            format!(
                "  <rect class=\"node\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{wide:.1}\" height=\"{high}\"/>\n"
            )
        } else {
            let class = if number < 2 { " class=\"end\"" } else { "" };
            format!("  <circle{class} cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"{RADIUS}\"/>\n")
        };
    }
    for (words, middle, class) in &texts {
        text += &label(words, *middle, class);
    }
    text + "</svg>\n"
}

#[cfg(test)]
mod tests {
    use super::super::tests::hostile;
    use super::*;

    #[test]
    fn all_texts_are_in_the_svg_and_escaped() {
        let svg = hostile().svg();
        for part in [
            ">&lt;a &amp; &quot;b&quot;&gt;</text>",
            "back\\slash",
            ">&#39;Ann &amp; Bob&#39;</text>",
            ">male or o&#39;&lt;er</text>",
            ">plain(X, Y)</text>",
            ">Z1</text>",
            "⁻¹",
        ] {
            assert!(svg.contains(part), "{part} is missing from:\n{svg}");
        }
        assert_eq!((svg.matches("marker-end").count(), svg.matches("<circle").count()), (5, 4));
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }

    #[test]
    fn signs_that_xml_cannot_hold_are_replaced() {
        assert_eq!(escaped("a\u{1}b"), "a\u{fffd}b");
    }
}
