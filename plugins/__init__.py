"""One module or folder for each family of commands."""
