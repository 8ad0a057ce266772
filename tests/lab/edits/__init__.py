"""Random targets and random edits of them: does a replay call fixed what is fixed, and nothing else?"""
