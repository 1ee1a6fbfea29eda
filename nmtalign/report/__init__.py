"""Layer 7: heatmaps, tables, the HTML report, results in notebooks."""
