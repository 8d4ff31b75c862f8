"""The demo: a mixed group on a real cluster, a killed member, a restarted broker, an audit."""
