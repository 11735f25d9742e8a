"""Millions of rows answered: read and written in little memory, resumed after any crash.

How a question is answered is `fabir.answer`.
"""
