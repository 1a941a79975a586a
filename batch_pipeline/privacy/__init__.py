"""What names a person taken out of a text, and put back into the answer to it."""
