"""The papers' tables from our own runs: what a study is, running it, its report."""
