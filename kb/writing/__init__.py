"""May it be written, and how? Rules: values in, values out."""
