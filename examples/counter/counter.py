#!/usr/bin/env python3
"""A counter that many programs change at once. Run: python3 counter.py

GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
"""
import http.client
import os
import sys
import threading
from urllib.parse import urlsplit

GRID = urlsplit(os.environ.get('GRIDNODE_URL', 'http://127.0.0.1:5701/grid'))
MAP = GRID.path + '/v1/maps/example-counters'
FORM = 'application/x-www-form-urlencoded'


class Client:
    """One connection. It sends no request twice: an addition without a response may have been made."""

    def __init__(self):
        self.connection = http.client.HTTPConnection(GRID.hostname, GRID.port or 80, timeout=10)

    def call(self, step, expected, method, path, content=None):
        try:
            headers = {'Content-Type': FORM} if method == 'POST' else {}
            self.connection.request(method, MAP + path, content, headers)
            response = self.connection.getresponse()
            text = response.read().decode()
        except (OSError, http.client.HTTPException) as error:
            sys.exit(f'{step}: no response: {error}')
        if response.status != expected:
            sys.exit(f'{step}: status {response.status}, expected {expected}: {text}')
        return text

    def add(self, counter, by=1):
        """Returns the sum."""
        return int(self.call('add', 200, 'POST', f'/counters/{counter}', f'by={by}'))


def visit():
    client = Client()
    for _ in range(5):
        client.add('visits')


client = Client()
client.call('clear', 204, 'DELETE', '')
workers = [threading.Thread(target=visit) for _ in range(4)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print('after 20 visits of 4 programs:', client.call('get', 200, 'GET', '/entries/visits'))
print('subtract 15:', client.add('visits', -15))
# A counter is an entry: a number as text. It is set like other entries.
client.call('set', 204, 'PUT', '/entries/visits', str(2**63 - 1))
client.call('add to the greatest number', 409, 'POST', '/counters/visits')
print('after the greatest number:', client.call('get', 200, 'GET', '/entries/visits'))
client.call('set', 201, 'PUT', '/entries/word', 'ten')
client.call('add to a word', 409, 'POST', '/counters/word')
print('a word remains:', client.call('get', 200, 'GET', '/entries/word'))
client.call('clear', 204, 'DELETE', '')
