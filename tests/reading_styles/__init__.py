"""Logs in random styles, each with the truth beside it: what a reader takes that is not told line by line how.

`python -m tests.reading_styles --n 500 --seed 1` writes that many, reads each as a user's file is read, and counts rows
and cells that are right, lost, wrong or false. `--show SEED` prints one of them with what is wrong.
"""
