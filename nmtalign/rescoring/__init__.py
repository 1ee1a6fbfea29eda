"""A rescorer of alignment posteriors: one network, its features, its training."""
