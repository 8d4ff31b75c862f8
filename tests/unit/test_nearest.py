from zkconsumer.nearest import did_you_mean, nearest


def test_the_nearest_names_are_suggested() -> None:
    """One name is suggested unless more are requested; a name unlike all others gets no hint."""
    known = {"auto_offset_reset", "auto_commit_enable", "group_id"}
    assert nearest("auto_offst_reset", known) == ["auto_offset_reset"]
    assert did_you_mean("auto_offst_reset", known) == ": did you mean auto_offset_reset?"
    assert did_you_mean("orders1", ["orders", "orders-2"], limit=2) == (
        ": did you mean orders, orders-2?"
    )
    assert did_you_mean("zzz", known) == ""
