"""Layer 8: heatmaps, tables, the HTML report, results in notebooks."""
