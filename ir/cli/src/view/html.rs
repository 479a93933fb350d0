//! HTML page of a picture, with boxes that open.

use serde_json::{Value as Json, json};

use super::positions::{closed, has_label, heading, is_module, plan};
use super::scene::{BoxKind, Piece, Scene};
use super::svg::{STYLE, class};
use super::text::{script, width};
use super::{Picture, labels};

const PAGE: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");

/// Returns a page with one picture, or with several to choose from. It loads nothing from the network.
pub fn page(pictures: &[(&str, Picture)]) -> String {
    let data = pictures.iter().map(|(name, picture)| describe(name, picture));
    let data = Json::Array(data.collect()).to_string();
    // The data is inserted last, so that nothing in it is replaced.
    PAGE.replace("{style}", STYLE).replace("{script}", SCRIPT).replace("{data}", &script(&data))
}

/// Returns a picture as JSON.
pub fn json(picture: &Picture) -> String {
    format!("{:#}\n", describe("graph", picture))
}

fn describe(name: &str, picture: &Picture) -> Json {
    json!({
        "name": name,
        "title": picture.title,
        "under": picture.under,
        "scene": scene(&picture.scene),
    })
}

fn scene(scene: &Scene) -> Json {
    let layers = plan(scene);
    json!({
        "pieces": scene.pieces.iter().map(piece).collect::<Vec<_>>(),
        "layers": layers.layers,
        "routes": layers.routes,
        "slots": layers.slots,
    })
}

fn piece(piece: &Piece) -> Json {
    let (wide, high) = closed(piece);
    let mut details = piece.details.clone();
    if is_module(piece) {
        details.push(labels::nodes(piece.nodes));
    }
    let title = heading(piece);
    let label = if has_label(piece) { &piece.label } else { "" };
    json!({
        "class": class(piece),
        "round": matches!(piece.kind, BoxKind::Input | BoxKind::Output),
        "repeats": piece.repeats,
        "titleWidth": width(&title, 13.0) * 1.08,
        "title": title,
        "details": details,
        "tip": piece.tip,
        "label": label,
        "labelWidth": width(label, 11.0),
        "width": wide,
        "height": high,
        "open": piece.open,
        "inner": piece.inner.as_ref().map(scene),
    })
}
