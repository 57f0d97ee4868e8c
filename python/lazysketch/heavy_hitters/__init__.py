"""Heavy items of a stream that nobody listed in advance, and how heavy they are.

Two mechanisms see every event. *Discovery* publishes names: items whose count in a window of steps,
plus noise, reaches a threshold that an item of one event hardly ever reaches. The *sketch* publishes
counts of the whole stream, also of what came before an item was discovered. Their guarantees add up.

Releasing an item because the sketch alone finds it heavy would be unsound: an item of one event is
heavy in the sketch wherever it collides, and its name would tell that it occurred.
"""
