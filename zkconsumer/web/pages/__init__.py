"""Pages as views of a ``ClusterState``. Pure; the app renders them.

Every function takes the state, the request, and the name of the page's subject:

- ``cluster.cluster_page(state, page_request)``
- ``topics.topics_page(state, page_request)``, ``topic.topic_page(state, page_request, name)``
- ``groups.groups_page(state, page_request)``, ``group.group_page(state, page_request, key, past)``
- ``znodes.znodes_page(page_request, key, nodes)``, with the result of ``web.znodes.read_nodes`` for
  ``?path=``
- ``plain.login_page(refused=...)``, ``plain.sorry_page(status, sentence)``

and returns a ``view.View``, which ``rendering.render(view, page_request, state)`` renders as HTML.
The view of an absent subject has status 404. A live page reloads itself on each event ``state`` of
``/events`` (with ``?group=<kind>/<id>`` on a group's page); the event's data is not used.
"""
