"""`python -m pyjs` is the command `pyjs`."""

from .cli.entry import main

if __name__ == "__main__":
    main()
