"""Tests of probability laws: what is drawn follows what is claimed, and nothing near it.

=====================================  ==================================================
``laws``                               the tests, each with its false-alarm rate
``claimed``                            the claimed law, from the oracle and from scratch
``noise``                              residuals of real sketches: release minus published
``test_laws``                          the tests keep their rate, by formula and by trial
``test_residuals``                     residuals follow the claimed law, under fresh keys
``test_residuals_of_streams``          the same with events, and under many seeded ids
``test_planted_laws``                  nearby wrong laws are rejected
``test_calibration_end_to_end``        no pair of neighbours is further apart than promised
``test_recall_of_discovery``           an item of the promised share is found as promised
``test_utility``                       the size of the noise is the size that was planned
=====================================  ==================================================

A p-value here is an upper bound of the exact one unless its docstring says otherwise, so a
check at rate alpha raises a false alarm with a probability of at most alpha. Checks of noise
under fresh secret keys differ from run to run; each file gives them a :class:`laws.Budget`.
"""
