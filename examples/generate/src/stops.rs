//! Texts that end an answer.

/// Text that arrives in pieces, up to the first of some texts.
pub struct Stops<'a> {
    stops: &'a [String],
    /// End of the text, if a stop text may begin with it.
    held: String,
    found: bool,
}

impl<'a> Stops<'a> {
    pub fn new(stops: &'a [String]) -> Self {
        Self { stops, held: String::new(), found: false }
    }

    /// Returns the text that no later piece can make a part of a stop.
    pub fn push(&mut self, piece: &str) -> String {
        if self.found {
            return String::new();
        }
        self.held += piece;
        let stops = self.stops.iter().filter(|stop| !stop.is_empty());
        if let Some(at) = stops.clone().filter_map(|stop| self.held.find(stop.as_str())).min() {
            self.found = true;
            self.held.truncate(at);
            return std::mem::take(&mut self.held);
        }
        let begins = |at: &usize| stops.clone().any(|stop| stop.starts_with(&self.held[*at..]));
        let mut places = self.held.char_indices().map(|(at, _)| at);
        let safe = places.find(begins).unwrap_or(self.held.len());
        let rest = self.held.split_off(safe);
        std::mem::replace(&mut self.held, rest)
    }

    pub fn found(&self) -> bool {
        self.found
    }

    /// Returns the text that is held back, at the end of all pieces.
    pub fn rest(&self) -> &str {
        &self.held
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(stops: &[&str], pieces: &[&str]) -> (Vec<String>, bool) {
        let stops: Vec<String> = stops.iter().map(|&stop| stop.into()).collect();
        let mut text = Stops::new(&stops);
        let mut shown: Vec<String> = pieces.iter().map(|piece| text.push(piece)).collect();
        shown.push(text.rest().into());
        (shown, text.found())
    }

    #[test]
    fn pieces_pass_until_a_stop() {
        assert_eq!(shown(&[], &["a", "b"]), (vec!["a".into(), "b".into(), String::new()], false));
        let (pieces, found) = shown(&["\n\n"], &["one\n", "two", "\n", "\nthree", "four"]);
        assert_eq!(pieces.concat(), "one\ntwo");
        assert!(found);
    }

    #[test]
    fn the_beginning_of_a_stop_is_held_back() {
        assert_eq!(
            shown(&["END"], &["a E", "N", "Eé", "EN"]),
            (["a ", "", "ENEé", "", "EN"].map(String::from).to_vec(), false)
        );
    }

    #[test]
    fn the_first_of_several_stops_counts() {
        let (pieces, found) = shown(&["cd", "b", ""], &["abcd"]);
        assert_eq!(pieces.concat(), "a");
        assert!(found);
    }
}
