"""Floor 1: results. Links, matrices, extraction, symmetrisation, link formats, evaluation."""
