"""Merge two versions of a record that grew apart from one base: facts of both stay, a contradiction is shown.

Which side is called ours decides nothing but where its words stand between the conflict markers.
"""
