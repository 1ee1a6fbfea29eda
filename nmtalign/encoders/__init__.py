"""Floor 5: the contextual head: cosines of the token vectors of each pair, mixed with another head."""
