#!/usr/bin/env python3
"""Ten calls with requests. Run: pip install requests && python3 python-requests.py

GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
"""
import os
import sys
from urllib.parse import quote

import requests

GRID = os.environ.get('GRIDNODE_URL', 'http://127.0.0.1:5701/grid')
# For the connection, and for each response: longer than the longest poll.
TIMEOUT_SECONDS = (5, 10)

# A session keeps the connection. It sends no request twice unless an adapter with `max_retries` is
# mounted. Do not mount one for queues: a second offer adds the item twice, a second poll removes
# another item.
session = requests.Session()


def call(step, expected, method, path, data=None, content_type=None):
    """Sends a request; ends the program unless the response has the expected status."""
    headers = {'Content-Type': content_type} if content_type else {}
    try:
        response = session.request(
            method, GRID + path, data=data, headers=headers, timeout=TIMEOUT_SECONDS
        )
    except requests.RequestException as error:
        sys.exit(f'{step}: no response: {error}')
    if response.status_code != expected:
        content = response.content.decode(errors='replace')
        sys.exit(f'{step}: status {response.status_code}, expected {expected}: {content}')
    return response


# quote() leaves slashes as they are unless `safe` is empty.
entry = f'/rest/maps/example-people/{quote("Zoë/1", safe="")}'
queue = '/rest/queues/example-jobs'

value = '{"name":"Zoë"}'.encode()
print('put:', call('put', 200, 'POST', entry, value, 'application/json').status_code)
response = call('get', 200, 'GET', entry)
# `content` is the bytes. `text` would guess an encoding.
print(f'get: 200, {response.headers.get("Content-Type", "")}, ', end='', flush=True)
sys.stdout.buffer.write(response.content + b'\n')
missing = '/rest/maps/example-people/nobody'
print('get missing:', call('get missing', 204, 'GET', missing).status_code)
print('delete:', call('delete', 200, 'DELETE', entry).status_code)
print('clear:', call('clear', 200, 'DELETE', '/rest/maps/example-people').status_code)

# A 503 without content means that the queue is full.
item = b'\x00\xff\n\x80'
print('offer:', call('offer', 200, 'POST', queue, item, 'application/octet-stream').status_code)
print('size:', call('size', 200, 'GET', f'{queue}/size').text)
# A poll waits up to the given number of seconds.
response = call('poll', 200, 'DELETE', f'{queue}/1')
print(f'poll: 200, {response.headers.get("Content-Type", "")}, {response.content.hex()}')
print('poll empty:', call('poll empty', 204, 'DELETE', f'{queue}/1').status_code)
print('ready:', call('ready', 200, 'GET', '/health/ready').status_code)
