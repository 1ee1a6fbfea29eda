"""Floor 4: heatmaps, tables, the HTML report, results in notebooks."""
