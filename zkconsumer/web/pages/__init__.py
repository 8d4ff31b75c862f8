"""Pages as values: what each shows of a ``ClusterState``. Pure; the app renders what comes out.

Every function takes the state, what was requested for, and the name of what the page is about:

- ``cluster.cluster_page(state, page_request)``
- ``topics.topics_page(state, page_request)``, ``topic.topic_page(state, page_request, name)``
- ``groups.groups_page(state, page_request)``, ``group.group_page(state, page_request, key, past)``
- ``znodes.znodes_page(page_request, key, nodes)`` with what ``web.znodes.look_at``
  gave for ``?path=``
- ``plain.login_page(refused=...)``, ``plain.sorry_page(status, sentence)``

and gives a ``view.View``, which ``rendering.render(view, page_request, state)`` makes HTML of. What
is not there gives a view whose status is 404. A live page asks for itself again on each ``/events``
(with ``?group=<kind>/<id>`` on a group's page) sends an event ``state``; its data is not looked at.
"""
