"""The command line: ``horizontree fit | predict | evaluate | show``."""
