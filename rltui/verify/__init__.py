"""The arithmetic of a training pipeline on small fixed inputs: log-softmax, advantages, decoding, mask, loss.

adapters.py   the user's functions, named in a file of theirs; torch, numpy and lists alike
probes.py     runs all probes; advantages.py, decoding.py and loss.py hold them
log.py        the same questions asked of a log
show.py       every value with its mark: ? is doubtful, !! is wrong beyond doubt
"""
