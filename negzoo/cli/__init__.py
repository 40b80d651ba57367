"""What a person types: one file per command group. Only this package knows typer and rich."""
