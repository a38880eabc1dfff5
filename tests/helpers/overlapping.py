"""Two threads in one context: the first to enter leaves first."""

import threading


def left_by_the_first(context, inside):
    """What inside() returns in the other thread, once the first has left its context(). Both have
    left afterwards.
    """
    entered, leave, seen = threading.Event(), threading.Event(), []

    def other():
        with context():
            entered.set()
            leave.wait(30)
            seen.append(inside())

    thread = threading.Thread(target=other)
    with context():
        thread.start()
        assert entered.wait(30)
    leave.set()
    thread.join()
    (found,) = seen
    return found
