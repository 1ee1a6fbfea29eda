"""Floor 4: what people look at. Heatmaps, tables, the HTML report."""
