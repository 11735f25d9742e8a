"""Answers millions of rows in little memory. A run can be resumed after any crash.

The answering of a question is in `fabir.answer`.
"""
