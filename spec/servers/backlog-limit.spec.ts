import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { backlogWarning } from '../../src/servers/backlog-limit.ts';

test('backlogWarning names a limit of the system below 4096, and no other', (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'backlog-'));
  t.after(() => rmSync(folder, { recursive: true }));
  const warningAt = (text: string) => {
    const file = join(folder, 'somaxconn');
    writeFileSync(file, text);
    return backlogWarning(file);
  };
  assert.equal(
    warningAt('128\n'),
    'net.core.somaxconn is 128, which is below 4096: ' +
      'some connections of a larger burst wait for a second or longer',
  );
  assert.match(warningAt('4095\n') ?? '', /is 4095,/);
  assert.equal(warningAt('4096\n'), undefined);
  assert.equal(warningAt('65535\n'), undefined);
  assert.equal(warningAt('unreadable\n'), undefined);
  assert.equal(backlogWarning(join(folder, 'missing')), undefined);
});
