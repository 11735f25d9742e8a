"""Variants of training questions, for a teacher to label: other passages, changed passages, changed
questions. `fabir.data.variants.making` makes a data set of them.
"""
