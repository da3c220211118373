//! SVG, drawn by our own layout: rules have at most nine variables, and X and Y have their places.

use super::Picture;
use super::drawing::{Drawing, Words};
use super::geometry::{Area, around};
use super::text::LINE;

/// What texts and lines look like, and the tips of arrows.
pub(super) const STYLE: &str = "  <style>text { font: 13px Helvetica, Arial, sans-serif; text-anchor: middle; fill: #222 } \
    .own { font-style: italic; fill: #456 } .node { font-weight: bold } .below { fill: #555 } \
    .conclusion { fill: #1f5fae } .never { fill: #b3261e } path { fill: none; stroke: #555; stroke-width: 1.4 } \
    path.conclusion { fill: none; stroke: #1f5fae; stroke-width: 1.8; stroke-dasharray: 7 5 } \
    path.never { fill: none; stroke: #b3261e; stroke-width: 1.8; stroke-dasharray: 7 5 } .paper { fill: #fff } \
    circle, rect.node { fill: #f4f6fa; stroke: #333; stroke-width: 1.4 } .end { fill: #dfe9fb }</style>\n\
    \x20 <defs><marker id=\"tip\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"8\" markerHeight=\"8\" \
    markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0 L10 5 L0 10 z\" style=\"fill: #555; stroke: none\"/></marker>\
    <marker id=\"end\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"10\" markerHeight=\"10\" \
    markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0 L10 5 L0 10 z\" style=\"fill: #1f5fae; stroke: none\"/>\
    </marker><marker id=\"never\" viewBox=\"0 0 10 10\" refX=\"9\" refY=\"5\" markerWidth=\"10\" markerHeight=\"10\" \
    markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0 L10 5 L0 10 z\" style=\"fill: #b3261e; stroke: none\"/>\
    </marker></defs>\n";

/// A text as XML has it; signs that XML cannot hold are replaced.
pub(super) fn escaped(text: &str) -> String {
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

/// A rectangle of a class.
pub(super) fn rectangle(class: &str, [left, top, right, bottom]: Area) -> String {
    format!(
        "  <rect class=\"{class}\" x=\"{left:.1}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{:.1}\"/>\n",
        right - left,
        bottom - top
    )
}

fn words(words: &Words) -> String {
    let (x, top) = (words.middle.0, words.area()[1]);
    let line = |(number, line): (usize, &String)| {
        let y = top + LINE * (number as f64 + 0.5) + 4.5;
        format!("  <text class=\"{}\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>\n", words.class, escaped(line))
    };
    words.lines.iter().enumerate().map(line).collect()
}

/// A page of this size with this on it.
pub(super) fn page(title: &str, area: Area, content: &str) -> String {
    let [left, top, right, bottom] = area;
    let (wide, high) = (right - left, bottom - top);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{wide:.0}\" height=\"{high:.0}\" \
         viewBox=\"{left:.1} {top:.1} {wide:.1} {high:.1}\">\n  <title>{}</title>\n{STYLE}{}{content}</svg>\n",
        escaped(title),
        rectangle("paper", area)
    )
}

pub(super) fn write(picture: &Picture) -> String {
    let drawing = Drawing::of(picture);
    page(&picture.text, drawing.area, &content(picture, &drawing))
}

/// What is drawn, on no page yet: arrows, their labels on white, nodes, all other texts.
pub(super) fn content(picture: &Picture, drawing: &Drawing) -> String {
    let mut text = String::new();
    for (arrow, [a, b, c]) in picture.arrows.iter().zip(&drawing.curves) {
        let (class, tip) = match (arrow.is_conclusion, picture.is_denial) {
            (true, false) => (" class=\"conclusion\"", "end"),
            (true, true) => (" class=\"never\"", "never"),
            (false, _) => ("", "tip"),
        };
        text += &format!(
            "  <path{class} d=\"M{:.1} {:.1} Q{:.1} {:.1} {:.1} {:.1}\" marker-end=\"url(#{tip})\"/>\n",
            a.0, a.1, b.0, b.1, c.0, c.1
        );
    }
    for label in &drawing.labels {
        let [left, top, right, bottom] = label.area();
        text += &rectangle("paper", [left - 3.0, top, right + 3.0, bottom]);
        text += &words(label);
    }
    for (number, (node, &(middle, size))) in picture.nodes.iter().zip(&drawing.nodes).enumerate() {
        text += &if node.constant {
            rectangle("node", around(middle, size))
        } else {
            let class = if number < 2 { " class=\"end\"" } else { "" };
            let radius = size.0 / 2.0;
            format!("  <circle{class} cx=\"{:.1}\" cy=\"{:.1}\" r=\"{radius}\"/>\n", middle.0, middle.1)
        };
    }
    drawing.texts.iter().fold(text, |text, each| text + &words(each))
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
            "<text class=\"conclusion\"",
            ">confidence 0.750, support 3</text>",
            ">Z1</text>",
            "⁻¹",
        ] {
            assert!(svg.contains(part), "{part} is missing from:\n{svg}");
        }
        assert_eq!((svg.matches("marker-end").count(), svg.matches("<circle").count()), (6, 4));
        assert_eq!(svg.matches("<path class=\"conclusion\"").count(), 1);
        assert_eq!(svg.matches("<text").count(), svg.matches("</text>").count());
    }

    #[test]
    fn signs_that_xml_cannot_hold_are_replaced() {
        assert_eq!(escaped("a\u{1}b"), "a\u{fffd}b");
    }
}
