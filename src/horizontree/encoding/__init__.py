"""From a matrix of numbers to ranks: only the order of a feature's values matters."""

from horizontree.encoding.ranking import SAMPLE, TIED, SampleSet, rank_samples
from horizontree.encoding.thresholds import threshold_between

__all__ = ["SAMPLE", "TIED", "SampleSet", "rank_samples", "threshold_between"]
