"""Similarity: is it the same, is it the contrary?"""
