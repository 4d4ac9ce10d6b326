import os

import requests

env = os.environ.copy()
env["STAGE"] = "production"
requests.post(env["WEBHOOK_URL"], json={"text": "deployed"}, timeout=10)
