"""Three-way merge of two versions of a record that grew apart from one base, and of histories.

Facts of both stay, a contradiction is shown. Which side is called ours decides nothing but where its words stand
between the conflict markers.
"""
