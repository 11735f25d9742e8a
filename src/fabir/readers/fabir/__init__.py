"""FABIR: a Fully Attention-Based Information Retriever (Correia et al. 2018, arXiv 1810.09580)."""

from fabir.readers.fabir.config import FabirConfig
from fabir.readers.fabir.network import Fabir

__all__ = ["Fabir", "FabirConfig"]
