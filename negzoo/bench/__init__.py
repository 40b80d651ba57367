"""How fast negzoo is on this machine: each figure a median over repeats of one run."""
