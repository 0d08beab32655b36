"""Pictures of a store: PlantUML text as nsc gives it, and drawings of exports and imports as SVG and PNG."""
