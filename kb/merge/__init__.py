"""Three-way merge of records and of histories."""
