"""Many runs: which is best at which cost, what limits the others, which settings go with it, what to run next.

read.py        runs found -> facts about each, as plain values
metric.py      the primary metric: guessed by a stated order, smoothed, with its noise
fair.py        equal budgets, Pareto front, a run beside the others and in their band
groups.py      Good, Bad, Ugly
signals.py     settings that go with the primary metric
experiments.py what to run next, one variable each
build.py       all of it as one object
model.py       that object, with the fields of the JSON; markdown.py and plot.py show nothing else
"""
