//! DOT for Graphviz: `dot -Tsvg rule.dot`.

use super::Picture;

/// A text in double quotes, where quotes and backslashes have a backslash.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

pub(super) fn write(picture: &Picture) -> String {
    let caption = [vec![picture.caption.clone()], picture.notes.clone()].concat().join(", ");
    let mut text = format!("digraph {{\n  rankdir=LR;\n  label={};\n", quoted(&caption));
    for (number, node) in picture.nodes.iter().enumerate() {
        let shape = if node.constant { "box" } else { "circle" };
        text += &format!("  n{number} [shape={shape}, label={}", quoted(&node.label));
        if !node.properties.is_empty() {
            text += &format!(", xlabel={}", quoted(&node.properties.join(", ")));
        }
        text += "];\n";
    }
    for arrow in &picture.arrows {
        text += &format!("  n{} -> n{} [label={}];\n", arrow.from, arrow.to, quoted(&arrow.label));
    }
    text + "}\n"
}

#[cfg(test)]
mod tests {
    use super::super::tests::hostile;

    #[test]
    fn all_texts_are_in_the_dot_and_quoted() {
        let dot = hostile().dot();
        for part in [
            r#"[label="<a & \"b\">"];"#,
            r"back\\slash",
            r#"label="'Ann & Bob'""#,
            "xlabel=\"male or o'<er\"",
        ] {
            assert!(dot.contains(part), "{part} is missing from:\n{dot}");
        }
        assert_eq!(dot.matches(" -> ").count(), 5);
    }
}
