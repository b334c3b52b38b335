"""Records: the model, the table of kinds, the codec between a record and its file."""
