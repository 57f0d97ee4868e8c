"""How accurate answers are on real and generated streams: the tables in the documents.

    python -m tools.accuracy estimators|coverage|planner [--data ../shared/data] [--seeds 20]

Real streams are read from a folder that is not part of the repository.
"""
