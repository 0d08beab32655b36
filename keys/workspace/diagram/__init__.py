"""Pictures of a store: PlantUML text as nsc writes it, and drawings of exports and imports as SVG and PNG."""
