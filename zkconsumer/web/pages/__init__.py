"""Pages as views of a ``ClusterState``. Pure; the app renders them.

Every function takes the state, the request, and the name of the page's subject, and returns a
``view.View``, which ``rendering.render`` renders as HTML. The view of an absent subject has status
404. A live page reloads itself on each event ``state`` of ``/events`` (with
``?group=<kind>/<id>`` on a group's page); the event's data is not used.
"""
