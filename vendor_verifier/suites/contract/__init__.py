"""The suite ``contract``: one check for each feature of a vendor's own API, with built-in questions."""
