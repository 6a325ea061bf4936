"""What flows down the line: frozen values, standard library only, no behaviour beyond small derivations."""
