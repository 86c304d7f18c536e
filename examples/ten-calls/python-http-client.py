#!/usr/bin/env python3
"""Ten calls with http.client of the standard library. Run: python3 python-http-client.py

GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
"""
import http.client
import os
import sys
from urllib.parse import quote, urlsplit

GRID = urlsplit(os.environ.get('GRIDNODE_URL', 'http://127.0.0.1:5701/grid'))
# Longer than the longest poll.
TIMEOUT_SECONDS = 10

# One connection for all calls. http.client sends no request twice. Do not add a retry for queues: a
# second offer adds the item twice, a second poll removes another item.
connection = http.client.HTTPConnection(GRID.hostname, GRID.port or 80, timeout=TIMEOUT_SECONDS)


def call(step, expected, method, path, value=None, content_type=None):
    """Sends a request; returns content type and content, or ends the program."""
    headers = {'Content-Type': content_type} if content_type else {}
    try:
        connection.request(method, GRID.path + path, value, headers)
        response = connection.getresponse()
        # The content must be read before the connection can be used again.
        content = response.read()
    except (OSError, http.client.HTTPException) as error:
        sys.exit(f'{step}: no response: {error}')
    if response.status != expected:
        message = content.decode(errors='replace')
        sys.exit(f'{step}: status {response.status}, expected {expected}: {message}')
    return response.getheader('Content-Type', ''), content


# quote() leaves slashes as they are unless `safe` is empty.
entry = f'/rest/maps/example-people/{quote("Zoë/1", safe="")}'
queue = '/rest/queues/example-jobs'

call('put', 200, 'POST', entry, '{"name":"Zoë"}'.encode(), 'application/json')
print('put: 200')
content_type, content = call('get', 200, 'GET', entry)
print(f'get: 200, {content_type}, ', end='', flush=True)
sys.stdout.buffer.write(content + b'\n')
call('get missing', 204, 'GET', '/rest/maps/example-people/nobody')
print('get missing: 204')
call('delete', 200, 'DELETE', entry)
print('delete: 200')
call('clear', 200, 'DELETE', '/rest/maps/example-people')
print('clear: 200')

# A 503 without content means that the queue is full.
call('offer', 200, 'POST', queue, b'\x00\xff\n\x80', 'application/octet-stream')
print('offer: 200')
_, content = call('size', 200, 'GET', f'{queue}/size')
print('size:', int(content))
# A poll waits up to the given number of seconds.
content_type, content = call('poll', 200, 'DELETE', f'{queue}/1')
print(f'poll: 200, {content_type}, {content.hex()}')
call('poll empty', 204, 'DELETE', f'{queue}/1')
print('poll empty: 204')
call('ready', 200, 'GET', '/health/ready')
print('ready: 200')
