"""Mutants of knowledge: does a test fail if a list, a threshold, a trait, a family, an alias or a relation is wrong?

    python -m tests.mutants [--n 60] [--seed N] [--jobs 2] [--only TEXT] [--list] [--results FILE] [--fresh]

A seeded draw takes mutants of the package's data files (a number times and by ten, an element of a list dropped, two
values exchanged, a truth turned) and of the constants in the code that judges (the same, and a comparison turned). Each
is made in the memory of a fork of a process that has collected the tests (`worker`, `inplace`), and the tests that the
map names for its file are run there until one fails: the quickest, and those that name what is changed, as they were
timed before (`.mutants/times.json`); slow ones are not asked, nor more than take 40 s of the processor. So a mutant
that survives here may be seen by a test that was not asked, and data that were taken in while modules were imported are
not changed; one that is killed is seen. In the end the tests that failed are asked without a mutant. Words that people
read are no knowledge and are left alone, as is what nobody could see (`equal.toml`).

`python -m tests.mutants.reach` notes which lines of the code that judges each test runs; a mutant of that code is then
asked only of tests that run its line, and the comparisons and constants that no test reaches are named.

The table tells who killed it: tests of behaviour, or the locked facts of `tests/unit/knowledge` (which say that
somebody changed a fact, not that the fact is right). Exit code 1 if fewer than --least of the mutants are killed.
"""
