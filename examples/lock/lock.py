#!/usr/bin/env python3
"""A lock that ends by itself. Run: python3 lock.py

The lock is an entry: a program has it that has set the entry when there was none. The entity tag of
the entry identifies this one lock, so a program that was too slow cannot remove the lock of the next
one. The time to live ends the lock of a program that has died.

GRIDNODE_URL is the address of another member, such as http://127.0.0.1:5701/hazelcast.
"""
import http.client
import os
import sys
import time
from urllib.parse import quote, urlsplit

GRID = urlsplit(os.environ.get('GRIDNODE_URL', 'http://127.0.0.1:5701/grid'))
MAP = GRID.path + '/v1/maps/example-locks'
connection = http.client.HTTPConnection(GRID.hostname, GRID.port or 80, timeout=10)


def call(step, method, path, value=None, **conditions):
    """Returns the status, the entity tag and the content; ends the program for other statuses.

    After a 503, or without a response, the lock may have been set: read the entry to find out.
    """
    headers = {name.replace('_', '-'): text for name, text in conditions.items()}
    try:
        connection.request(method, path, value, headers)
        response = connection.getresponse()
        content = response.read()
    except (OSError, http.client.HTTPException) as error:
        sys.exit(f'{step}: no response: {error}')
    if response.status not in (200, 201, 204, 412):
        sys.exit(f'{step}: status {response.status}: {content.decode(errors="replace")}')
    return response.status, response.getheader('ETag'), content


class Lock:
    """A lock of an owner, which it has until `seconds` after the last lock or extension."""

    def __init__(self, name, owner, seconds):
        self.path = f'{MAP}/entries/{quote(name, safe="")}'
        self.owner = owner
        self.seconds = str(seconds)
        self.tag = None

    def lock(self):
        """Sets the lock if there is none; returns 201, or 412 if another owner has it."""
        return self._set('lock', If_None_Match='*')

    def extend(self):
        """Begins the time anew; returns 204, or 412 if the lock is lost."""
        return self._set('extend', If_Match=self.tag)

    def unlock(self):
        """Returns 204, or 412 if the lock was lost before."""
        return call('unlock', 'DELETE', self.path, If_Match=self.tag)[0]

    def _set(self, step, **condition):
        status, tag, _ = call(
            step, 'PUT', self.path, self.owner, Grid_Time_To_Live=self.seconds, **condition
        )
        if status != 412:
            self.tag = tag
        return status


call('clear', 'DELETE', MAP)
one = Lock('report', 'one', 30)
two = Lock('report', 'two', 30)
print('one locks:', one.lock())
status = two.lock()
_, _, owner = call('owner', 'GET', two.path)
print(f'two locks: {status}, the owner is {owner.decode()}')
former = one.tag
print('one extends:', one.extend())
one.tag, new = former, one.tag
print('one unlocks with its former tag:', one.unlock())
one.tag = new
print('one unlocks:', one.unlock())
two.seconds = '1'
print('two locks for a second, and is slow:', two.lock())
while (status := one.lock()) != 201:
    time.sleep(0.2)
print('one locks:', status)
print('two unlocks too late:', two.unlock())
call('clear', 'DELETE', MAP)
