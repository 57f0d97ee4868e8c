"""Accuracy on real and generated streams: the measured tables of the documents.

    python -m tools.accuracy TABLE [--data ../shared/data] [--seeds 20]

TABLE is one of estimators, coverage, heavy-hitters, planner and schedules. Real streams are read
from a folder that is not part of the repository.
"""
