"""`python -m rltui`."""

from rltui.cli import main

if __name__ == "__main__":
    raise SystemExit(main())
