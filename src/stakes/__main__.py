"""``python -m stakes`` is the command ``stakes``."""

from stakes.cli import main

if __name__ == "__main__":
    main()
