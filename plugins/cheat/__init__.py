"""`pyjs cheat`: short lists of commands for what people do often, one file for each family."""
