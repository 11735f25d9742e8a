"""How good answers are: the official SQuAD metrics.

This room handles data sets and predicted texts. Models and decoding live elsewhere.
"""
