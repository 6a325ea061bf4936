"""Does a vendor keep the contract of its own API? One check a feature; the questions are built in, not read."""
