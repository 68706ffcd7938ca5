from certwright.runtime.writes.patches import finalizer_patch, with_finalizer, without_finalizer


def test_adding_keeps_the_others_and_does_nothing_twice() -> None:
    assert with_finalizer(["a"], "b") == ["a", "b"]
    assert with_finalizer(["a", "b"], "b") is None


def test_removing_keeps_the_others_and_does_nothing_twice() -> None:
    assert without_finalizer(["a", "b", "c"], "b") == ["a", "c"]
    assert without_finalizer(["a"], "b") is None


def test_the_patch_only_fits_the_object_that_was_read() -> None:
    metadata = {"name": "x", "uid": "u", "resourceVersion": "5", "labels": {"l": "v"}}
    assert finalizer_patch(metadata, ["a"]) == {
        "metadata": {"uid": "u", "resourceVersion": "5", "finalizers": ["a"]}
    }
