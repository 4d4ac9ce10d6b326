import base64
import sys

icon = base64.b64decode(sys.stdin.read())
with open("icon.gif", "wb") as out:
    out.write(icon)
