"""Layer 1: links, how they are chosen, written and evaluated."""
