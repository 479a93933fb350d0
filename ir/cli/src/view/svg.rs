//! A picture as SVG.

use std::fmt::Write;

use super::positions::{Frame, Line, Positions, has_label, heading, is_module, positions};
use super::scene::{BoxKind, Piece, Scene};
use super::text::{width, xml};
use super::{Picture, labels};

/// Margin around the picture.
const MARGIN: f64 = 24.0;
/// Height of the title of the picture and the line below it.
const TITLE: f64 = 52.0;

/// Style sheet, with a class for each group of operators.
pub const STYLE: &str = "\
svg{font-family:-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif}\
.page{fill:#fff}.title{font-size:17px;font-weight:600;fill:#1b2430}\
.name{font-size:13px;font-weight:600;fill:#1b2430;text-anchor:middle}\
.detail{font-size:11px;fill:#5c6b7a;text-anchor:middle}.under{font-size:12px;fill:#5c6b7a}\
.size{font-size:11px;fill:#5c6b7a;text-anchor:middle;paint-order:stroke;stroke:#fff;stroke-width:4px;stroke-linejoin:round}\
.open .size{stroke:#f8fafc}\
.edge{fill:none;stroke:#8a98a8;stroke-width:1.3}.tip{fill:#8a98a8}\
.box{fill:#eef1f5;stroke:#a9b5c2;stroke-width:1}.area{fill:#f8fafc;stroke:#a9b5c2;stroke-width:1}\
.area-name{font-size:13px;font-weight:600;fill:#5c6b7a}\
.input>.box,.output>.box{fill:#dcefe3;stroke:#7fb894}.module>.box{stroke-width:1.6}\
.product>.box,.convolution>.box{fill:#dbe7fb;stroke:#7ea3dd}.attention>.box{fill:#e7defa;stroke:#a58fdb}\
.recurrent>.box{fill:#e7defa;stroke:#a58fdb}.normalize>.box{fill:#fdebd3;stroke:#dfae6b}\
.elementwise>.box{fill:#fdf3cf;stroke:#d8bf62}.pool>.box,.reduce>.box{fill:#fbdfe0;stroke:#d98f92}\
.quantize>.box{fill:#d9f1f2;stroke:#74b8bb}.control>.box{fill:#f2dcf0;stroke:#c489bf}";

/// Draws the picture, with its boxes open or closed as they are.
pub fn svg(picture: &Picture) -> String {
    let positions = positions(&picture.scene);
    let (title, under) = (xml(&picture.title), xml(&picture.under));
    let texts = width(&picture.title, 17.0).max(width(&picture.under, 12.0));
    let wide = positions.width.max(texts) + 2.0 * MARGIN;
    let high = positions.height + TITLE + 2.0 * MARGIN;
    let mut text = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {wide:.0} {high:.0}\" width=\"{wide:.0}\" \
         height=\"{high:.0}\" role=\"img\" aria-label=\"{title}\">\n<style>{STYLE}</style>\n\
         <rect class=\"page\" width=\"100%\" height=\"100%\"/>\n\
         <text class=\"title\" x=\"{MARGIN}\" y=\"38\">{title}</text>\n\
         <text class=\"under\" x=\"{MARGIN}\" y=\"58\">{under}</text>\n"
    );
    let left = (wide - positions.width) / 2.0;
    draw(&picture.scene, &positions, (left, MARGIN + TITLE), &mut text);
    text.push_str("</svg>\n");
    text
}

fn draw(scene: &Scene, positions: &Positions, corner: (f64, f64), text: &mut String) {
    for line in &positions.edges {
        edge(line, corner, text);
    }
    for ((piece, frame), inner) in scene.pieces.iter().zip(&positions.boxes).zip(&positions.inner) {
        let frame = Frame { x: frame.x + corner.0, y: frame.y + corner.1, ..*frame };
        // Writing to a string cannot fail.
        let _ = writeln!(text, "<g class=\"{}\"><title>{}</title>", class(piece), xml(&piece.tip));
        match (inner, &piece.inner) {
            (Some(content), Some(inside)) => {
                let _ = writeln!(
                    text,
                    "<g class=\"open\">{}<text class=\"area-name\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
                    rectangle(&frame, "area", 8.0),
                    frame.x + 12.0,
                    frame.y + 20.0,
                    xml(&heading(piece)),
                );
                let x = frame.x + (frame.width - content.width) / 2.0;
                draw(inside, content, (x, frame.y + 30.0), text);
                text.push_str("</g>\n");
            }
            _ => closed(piece, &frame, text),
        }
        if has_label(piece) {
            let (x, y) = (frame.x + frame.width / 2.0, frame.y + frame.height + 14.0);
            let _ =
                writeln!(text, "<text class=\"size\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", xml(&piece.label));
        }
        text.push_str("</g>\n");
    }
}

fn closed(piece: &Piece, frame: &Frame, text: &mut String) {
    let round = match piece.kind {
        BoxKind::Input | BoxKind::Output => frame.height / 2.0,
        _ => 6.0,
    };
    if piece.repeats > 1 {
        // The boxes that are drawn behind the first one.
        for shift in [6.0, 3.0] {
            let behind = Frame { x: frame.x + shift, y: frame.y - shift, ..*frame };
            text.push_str(&rectangle(&behind, "box", round));
        }
    }
    text.push_str(&rectangle(frame, "box", round));
    let (x, mut y) = (frame.x + frame.width / 2.0, frame.y + 17.5);
    let _ = writeln!(text, "<text class=\"name\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", xml(&heading(piece)));
    let mut details = piece.details.clone();
    if is_module(piece) {
        details.push(labels::nodes(piece.nodes));
    }
    for detail in details {
        y += 15.0;
        let _ = writeln!(text, "<text class=\"detail\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", xml(&detail));
    }
}

fn rectangle(frame: &Frame, class: &str, round: f64) -> String {
    let Frame { x, y, width, height } = frame;
    format!(
        "<rect class=\"{class}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" rx=\"{round}\"/>\n"
    )
}

fn edge(line: &Line, corner: (f64, f64), text: &mut String) {
    let mut points = line.points.iter().map(|point| (point.0 + corner.0, point.1 + corner.1));
    let Some((mut x, mut y)) = points.next() else {
        return;
    };
    let mut path = format!("M{x:.1},{y:.1}");
    for (at, (to_x, mut to_y)) in points.enumerate() {
        let is_last = at + 2 == line.points.len();
        if is_last && line.arrow {
            to_y -= 5.0;
        }
        // Curves are between layers, straight parts within them.
        if at % 2 == 1 {
            let middle = (y + to_y) / 2.0;
            let _ = write!(path, "C{x:.1},{middle:.1} {to_x:.1},{middle:.1} {to_x:.1},{to_y:.1}");
        } else {
            let _ = write!(path, "L{to_x:.1},{to_y:.1}");
        }
        (x, y) = (to_x, to_y);
    }
    let _ = writeln!(text, "<path class=\"edge\" d=\"{path}\"/>");
    if !line.has_source {
        let start = line.points.first().copied().unwrap_or_default();
        let (x, y) = (start.0 + corner.0, start.1 + corner.1);
        let _ = writeln!(text, "<circle class=\"tip\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"3\"/>");
    }
    if line.arrow {
        let (left, right, tip) = (x - 3.5, x + 3.5, y + 5.0);
        let _ = writeln!(
            text,
            "<path class=\"tip\" d=\"M{left:.1},{y:.1}L{right:.1},{y:.1}L{x:.1},{tip:.1}Z\"/>"
        );
    }
}

/// Returns the CSS class of a box.
pub fn class(piece: &Piece) -> &'static str {
    match piece.kind {
        BoxKind::Input => "input",
        BoxKind::Output => "output",
        BoxKind::Node(room) => room,
        BoxKind::Module | BoxKind::Block => "module",
    }
}
