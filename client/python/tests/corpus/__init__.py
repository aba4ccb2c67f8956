"""Replays the corpus of `client/corpus`: the cases that every client of every language must pass.

`case` loads and checks the cases, `server` starts the real binary, `disk` makes and compares trees, `match` compares
answers, `replay` runs the steps of one case, and `door` is what a client has to offer for that.
"""
