"""The study of the paper as a program: data sets, methods, fits on disk, tables and figures."""
