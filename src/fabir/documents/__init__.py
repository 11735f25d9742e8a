"""Files as documents: their text, and the pages, headings and lines that it comes from.

`reading` opens a file of any kind; a module each knows a kind or a family of kinds.
"""
