"""Published data sets of other formats, converted to SQuAD's: a file for each format."""
