"""What is wrong with the records? Rules: values in, values out."""
