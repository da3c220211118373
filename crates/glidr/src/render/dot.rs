//! DOT for Graphviz: `dot -Tsvg rule.dot`.

use super::Picture;
use super::text::wrapped;

/// A text in double quotes, where quotes and backslashes have a backslash.
fn quoted(text: &str) -> String {
    format!("\"{}\"", escaped(text))
}

fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('"', "\\\"")
}

/// A text in lines.
fn lines(text: &str) -> String {
    let lines: Vec<String> = wrapped(text).iter().map(|line| escaped(line)).collect();
    format!("\"{}\"", lines.join("\\n"))
}

pub(super) fn write(picture: &Picture) -> String {
    let below: Vec<&str> = picture.notes.iter().chain(&picture.measures).map(String::as_str).collect();
    let mut text = "digraph {\n  rankdir=LR;\n".to_owned();
    if !below.is_empty() {
        text += &format!("  label={};\n", quoted(&below.join(", ")));
    }
    for (number, node) in picture.nodes.iter().enumerate() {
        let shape = if node.constant { "box" } else { "circle" };
        text += &format!("  n{number} [shape={shape}, label={}", quoted(&node.label));
        if !node.properties.is_empty() {
            text += &format!(", xlabel={}", quoted(&node.properties.join(", ")));
        }
        text += "];\n";
    }
    for arrow in &picture.arrows {
        let style = match (arrow.is_conclusion, picture.is_denial) {
            (true, false) => ", style=dashed",
            (true, true) => ", style=dashed, color=red, fontcolor=red",
            (false, _) => "",
        };
        text += &format!("  n{} -> n{} [label={}{style}];\n", arrow.from, arrow.to, lines(&arrow.label));
    }
    text + "}\n"
}

#[cfg(test)]
mod tests {
    use super::super::tests::hostile;
    use super::*;

    #[test]
    fn all_texts_are_in_the_dot_and_quoted() {
        let dot = hostile().dot();
        for part in [
            r#"[label="<a & \"b\">"];"#,
            r"back\\slash",
            r#"label="'Ann & Bob'""#,
            "xlabel=\"male or o'<er\"",
            "label=\"confidence 0.750, support 3\";",
            "n0 -> n1 [label=\"plain\", style=dashed];",
        ] {
            assert!(dot.contains(part), "{part} is missing from:\n{dot}");
        }
        assert_eq!((dot.matches(" -> ").count(), dot.matches("dashed").count()), (6, 1));
    }

    #[test]
    fn a_long_label_has_lines() {
        assert_eq!(lines(r"a_word_of_many_letters\s"), r#""a_word_of_many_\nletters\\s""#);
    }
}
