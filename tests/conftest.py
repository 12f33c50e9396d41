"""Order of the tests."""


def pytest_collection_modifyitems(items):
    """Begin with the one test of minutes: at the end, other workers would wait for it."""
    items.sort(key=lambda item: "test_disturbed_sweeps" not in item.nodeid)
