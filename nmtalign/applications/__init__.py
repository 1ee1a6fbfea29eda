"""Layer 8: what one does with links. Modules here import public names and the foundation only."""
