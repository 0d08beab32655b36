"""`pyjs doctor`: what is wrong, or will be soon, as far as this user sees it."""
