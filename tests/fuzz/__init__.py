"""Fuzzing: for each thing that reads foreign input, what must hold whatever comes in.

`python -m tests.fuzz` runs all targets; see `__main__`. `test_corpus.py` plays the corpus, without atheris.
"""
