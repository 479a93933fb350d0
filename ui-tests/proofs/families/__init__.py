"""Laws of the rules, by families."""
