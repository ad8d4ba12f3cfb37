"""Comparison of many runs: which is best at which cost, what limits the others, which settings go with a better metric,
and what to run next.

read.py        runs found -> facts about each, as plain values
metric.py      the primary metric: chosen by a stated order, smoothed, with its noise
fair.py        equal budgets, the Pareto front, a run compared with the band of the others
groups.py      Good, Bad, Ugly
signals.py     settings that correlate with the primary metric
experiments.py what to run next, one variable each
build.py       puts all of this into one object
model.py       that object, with the fields of the JSON; markdown.py and plot.py show only what it holds
"""
