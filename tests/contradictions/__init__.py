"""The contradiction engine: collects what rltui says of one run on every surface, and holds each pair of statements
beside each other.

    python -m tests.contradictions [RUN ...] [--every N] [--screen]

- `surfaces`: what is said, through the command line and the screen, as a user would see it;
- `page`: the Markdown report taken apart;
- `engine`: a rule takes what is said and tells which two statements cannot both be true. Where two places may differ,
  the rule's docstring says why;
- `readers`, `past`, `judge`, `words`, `tables`, `unknowns`, `views`, `panes`, `messages`: the rules;
- `honest` and `lies`: what each of them is tried on;
- `written`: runs that a seeded generator writes.
"""
