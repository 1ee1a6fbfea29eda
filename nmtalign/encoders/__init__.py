"""Floor 5: the scorer of an encoder: cosines of the token vectors of each pair."""
