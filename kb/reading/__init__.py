"""What answers, and how much fits? Rules: values in, values out."""
