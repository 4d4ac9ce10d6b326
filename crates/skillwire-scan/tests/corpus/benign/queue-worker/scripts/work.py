"""Works through a queue."""

import os
import sqlite3

import requests


def next_report(connection, queue):
    return connection.execute("SELECT text FROM reports WHERE queue = ?", (queue,)).fetchone()


def send(text):
    key = os.environ["REPORTS_API_KEY"]
    requests.post("https://reports.host.io/v1", json={"text": text}, headers={"X-Key": key})


def work():
    connection = sqlite3.connect("reports.db")
    while True:
        report = next_report(connection, "open")
        if report is None:
            return
        send(report[0])


work()
