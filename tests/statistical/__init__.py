"""Statistical tests: the noise has the claimed distribution, and nearby wrong ones are rejected.

=====================================  ==================================================
``claimed``                            the claimed distribution, from the oracle and from scratch
``noise``                              residuals of real sketches: release minus published
``misses``                             p-values of too many and of too few misses
``declared``                           the false-alarm rate of every file
``power``, ``histograms``              the smallest deviation that a test finds
``laws``, ``inventory``                all laws and tests: the tables of docs/testing.md
``test_inventory``                     the page, the tests and their rates agree
``test_power``                         stated deviations are found, half of them are not
``test_p_values``                      the tests keep their rate, by formula and by simulation
``test_residuals``                     residuals have the claimed distribution, under fresh keys
``test_residuals_of_streams``          the same with events, and under many seeded ids
``test_tree_residuals``                the same for the optimised tables
``test_composed_noise``                the same for merges, windows, names and hierarchies
``test_planted_distributions``         nearby wrong distributions are rejected
``test_discovery_noise``               the noise of discovery, and its rates of names
``test_keys``                          bits of keys, ids and hash seeds
``test_calibration_end_to_end``        no pair of neighbours is further apart than claimed
``test_interval_coverage``             intervals cover the true counts, and are not far too wide
``test_ranked_lists``                  the same for ranked lists, simultaneously
``test_hierarchies``                   the same for the levels of a hierarchy
``test_changes_of_windows``            the same for changes between windows
``test_recall_of_discovery``           items at the detection threshold are discovered as claimed
``test_utility``                       the noise has the planned size
=====================================  ==================================================

A p-value here is an upper bound of the exact one unless its docstring says otherwise, so a
check at rate alpha raises a false alarm with a probability of at most alpha. Checks of noise
under fresh secret keys differ from run to run; each file has a budget in ``declared``.
"""
