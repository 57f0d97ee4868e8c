"""Statistical tests: the noise has the claimed distribution, and nearby wrong ones are rejected.

=====================================  ==================================================
``claimed``                            the claimed distribution, from the oracle and from scratch
``noise``                              residuals of real sketches: release minus published
``misses``                             p-value of a number of misses at a confidence level
``test_p_values``                      the tests keep their rate, by formula and by simulation
``test_residuals``                     residuals have the claimed distribution, under fresh keys
``test_residuals_of_streams``          the same with events, and under many seeded ids
``test_tree_residuals``                the same for the optimised tables
``test_planted_distributions``         nearby wrong distributions are rejected
``test_discovery_noise``               the noise of discovery, and its rate of false names
``test_calibration_end_to_end``        no pair of neighbours is further apart than claimed
``test_interval_coverage``             intervals cover the true counts
``test_ranked_lists``                  intervals of ranked lists hold simultaneously
``test_changes_of_windows``            intervals of changes between windows hold simultaneously
``test_recall_of_discovery``           items at the detection threshold are discovered as claimed
``test_utility``                       the noise has the planned size
=====================================  ==================================================

A p-value here is an upper bound of the exact one unless its docstring says otherwise, so a
check at rate alpha raises a false alarm with a probability of at most alpha. Checks of noise
under fresh secret keys differ from run to run; each file gives them a :class:`p_values.Budget`.
"""
