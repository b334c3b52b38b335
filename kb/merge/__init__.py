"""Three-way merge of two versions of a record that grew apart from one base, and of two lines of history."""
