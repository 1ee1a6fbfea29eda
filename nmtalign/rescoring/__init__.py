"""Layer 5: a rescorer of alignment posteriors: one network, its features, its training."""
