"""Files from strangers."""
