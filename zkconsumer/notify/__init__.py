"""Notifications of groups that get into trouble and out of it (0083).

``troubles`` takes them from the state that the page shows, ``alerts`` says which last, ``outbox``
the undelivered notifications of a target, and ``templates`` writes the messages. ``notifier`` has
the threads, ``targets`` the connections.
"""
