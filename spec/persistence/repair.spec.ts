/**
 * The findings of repair in damaged files, and the data that it saves: every record with a correct
 * checksum.
 */
import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { Random } from '../../bench/harness.ts';
import { ViewedBytes } from '../../src/base/copy-bytes.ts';
import { Mutation, SET } from '../../src/engine/mutation.ts';
import type { Finding } from '../../src/persistence/findings.ts';
import { MARK, writeMutation } from '../../src/persistence/record-codec.ts';
import { repair } from '../../src/persistence/repair.ts';
import { LOG as LOG_KIND, segmentName, segmentSeed } from '../../src/persistence/segment.ts';
import type { AtOnce } from '../engine/embedded/at-once.ts';
import { MemoryStorage } from '../world/memory-storage.ts';
import {
  bytesOf,
  changed,
  type Files,
  recordsOf,
  storageOf,
  wholeDirectory,
  withFlippedBit,
} from './damaged-directory.ts';
import { contentOf, described } from './stored-model.ts';
import {
  checkNoneOpen,
  maintenance,
  openOnce,
  openPersistent,
  PARTITION_COUNT,
  pumping,
  until,
} from './subject.ts';

/** Distance between two flipped bits; the soak has a smaller one. */
const STEP = Number(process.env.SOAK_STEP ?? 1201);

const { files, content, values } = await wholeDirectory();
const names = [...files.keys()].sort();
const logs = names.filter((name) => name.startsWith('log-') && recordsOf(files, name).length > 0);
const parts = names.filter((name) => name.startsWith('snapshot-'));
const LOG = logs[1] ?? '';
const PART = parts[0] ?? '';

/** Returns the findings, the saved records, and the content after a start on them. */
async function repaired(damaged: Files, partitionCount = PARTITION_COUNT, known = values) {
  const source = storageOf(damaged);
  const target = new MemoryStorage(new Random(2));
  const findings: Finding[] = [];
  const options = { ...maintenance({ source }, findings), partitionCount };
  const { records, damages } = await until(repair(options, target), pumping(source, target));
  assert.deepEqual(source.files, damaged, 'the source was changed');
  const { engine, persistence, quiet } = await openOnce(target);
  const found = contentOf(engine);
  await until(persistence.close(), quiet);
  checkNoneOpen(target);
  for (const each of found) assert.ok(known.has(each), `${each} never existed`);
  const reports = findings.map(({ file, offset, what }) => `${file} ${offset ?? ''}: ${what}`);
  return { records, damages, reports, found, member: persistence.member.values };
}

function countOf(among: Files, name: string): number {
  return recordsOf(among, name).filter(({ type }) => type !== MARK).length;
}

const all = names.reduce((sum, name) => sum + countOf(files, name), 0);

async function savesAll(damaged: Files, reports: RegExp): Promise<void> {
  const result = await repaired(damaged);
  assert.equal(result.records, all);
  assert.deepEqual(result.found, content);
  assert.match(result.reports.join('\n'), reports);
}

const NOWHERE = { at: 0, type: 0 };
/** The range of bytes in a record that contain its lengths and determine how it is read. */
const FIELDS_OF_LENGTH = [
  [4, 10],
  [28, 40],
] as const;

describe('repair', () => {
  it('has a directory for the tests', () => {
    assert.ok(logs.length >= 3 && parts.length > 0, names.join(' '));
  });

  it('finds no fault in an intact directory, and copies it', async () => {
    const { records, damages, reports, found, member } = await repaired(files);
    assert.deepEqual([records, damages, reports], [all, 0, []]);
    assert.deepEqual(found, content);
    assert.equal(member.clusterState, 'FROZEN');
  });

  it('saves all but the record in which a bit is wrong, and names it', async () => {
    for (const name of [LOG, PART]) {
      const places = recordsOf(files, name);
      const [first = 0, last = 0] = [places[0]?.at, places.at(-1)?.at];
      for (let bit = first * 8; bit < last * 8; bit += STEP) {
        const record = places.findLast(({ at }) => at <= bit >> 3);
        const { records, damages, reports } = await repaired(withFlippedBit(files, name, bit));
        assert.equal(records, all - (record?.type === MARK ? 0 : 1), `${name} bit ${bit}`);
        assert.equal(damages, 1, reports.join('\n'));
        assert.ok(reports[0]?.startsWith(`${name} ${record?.at}: `), reports.join('\n'));
      }
    }
  });

  it('describes the probable content of a damaged record, except of the reserved map', async () => {
    const descriptions = [/a value of "key \d+" in map "map \d"$/, /a record of the reserved map$/];
    const seen = new Set<RegExp | undefined>();
    for (const name of logs) {
      for (const { at } of recordsOf(files, name).filter(({ type }) => type === SET)) {
        const { reports } = await repaired(withFlippedBit(files, name, at * 8));
        const [, what = ''] =
          reports[0]?.split('bytes are damaged; there seems to have been ') ?? [];
        seen.add(descriptions.find((each) => each.test(what)));
      }
    }
    assert.deepEqual(seen, new Set(descriptions));
  });

  it('saves the records after a range of overwritten bytes', async () => {
    const bytes = Buffer.from(bytesOf(files, LOG));
    const places = recordsOf(files, LOG);
    const [from = 0, to = 0] = [places[1]?.at, places[3]?.at];
    new Random(5).bytes(to - from).copy(bytes, from);
    const lost = places.slice(1, 3).filter(({ type }) => type !== MARK).length;
    const { records, damages } = await repaired(changed(files, LOG, bytes));
    assert.deepEqual([records, damages], [all - lost, 1]);
  });

  it('does not treat part of a value as a record if the record that contains it is damaged', async () => {
    const { files, name, known, forged } = await withForged();
    const bytes = bytesOf(files, name);
    const [, holder = NOWHERE, next = NOWHERE] = recordsOf(files, name);
    assert.ok(bytes.indexOf(forged) > holder.at && bytes.indexOf(forged) < next.at);
    let intactCount = 0;
    for (let bit = holder.at * 8; bit < next.at * 8; bit += STEP === 1 ? 1 : 131) {
      const damaged = withFlippedBit(files, name, bit);
      const { found, records } = await repaired(damaged, PARTITION_COUNT, known);
      const at = (bit >> 3) - holder.at;
      const isLengthField = FIELDS_OF_LENGTH.some(([from, to]) => at >= from && at < to);
      assert.ok(records === 2 || isLengthField, `byte ${at} of the record: ${found.join(', ')}`);
      if (records === 2) intactCount++;
    }
    assert.ok(intactCount > 0, 'no damage left the other two records readable');
  });

  it('saves all but the record whose length is wrong, even if that leads to another record', async () => {
    const { files, name, known } = await recorded((ask) => {
      for (let key = 0; key < 9; key++) ask.set('m', `k${key}`, Buffer.alloc(8, `${key}`));
    });
    const [, record = NOWHERE, next = NOWHERE] = recordsOf(files, name);
    assert.equal(next.at - record.at, 64);
    for (let bit = (record.at + 4) * 8; bit < (record.at + 8) * 8; bit++) {
      const damaged = withFlippedBit(files, name, bit);
      const { records } = await repaired(damaged, PARTITION_COUNT, known);
      assert.equal(records, 8, `bit ${bit}`);
    }
  });

  /** Returns a log of the changes that `make` makes, and everything that it ever contained. */
  async function recorded(make: (ask: AtOnce) => void) {
    const storage = new MemoryStorage(new Random(1), 'boot');
    const history: Mutation[] = [];
    const { ask, persistence, quiet } = await openPersistent(storage, { history });
    make(ask);
    await quiet();
    await until(persistence.close(), quiet);
    const files = storage.files;
    const name = segmentName({ kind: LOG_KIND, number: 1, part: 0 });
    return { files, name, known: new Set(history.map(described)) };
  }

  /**
   * Returns files in which the value of the second of three records contains the bytes of a valid
   * record.
   */
  async function withForged() {
    const page = new ViewedBytes(1024);
    const mutation = new Mutation();
    for (const [span, text] of [
      [mutation.name, 'm'],
      [mutation.key, 'forged'],
      [mutation.value, 'v'.repeat(40)],
    ] as const) {
      span.set(Buffer.from(text), 0, text.length);
    }
    mutation.partition = 0;
    mutation.sequence = 5;
    const seed = segmentSeed({ kind: LOG_KIND, number: 1, part: 0 });
    const forged = page.bytes.subarray(0, writeMutation(page, 0, mutation, seed));
    const value = Buffer.concat([Buffer.alloc(64, 'before'), forged, Buffer.alloc(500, 'behind')]);
    const log = await recorded((ask) => {
      ask.set('m', 'k', Buffer.from('first'));
      ask.set('m', 'l', value);
      ask.set('m', 'n', Buffer.from('last'));
    });
    return { ...log, forged };
  }

  it('saves all if the header of a segment is damaged', async () => {
    for (const name of [LOG, PART]) {
      for (let bit = 0; bit < 256; bit += 37) {
        await savesAll(
          withFlippedBit(files, name, bit),
          /does not begin with|has a wrong checksum|is cut off|continues after its end/,
        );
      }
    }
  });

  it('saves all but a segment or part that is missing, and names it', async () => {
    for (const name of [...logs.slice(0, -1), ...parts]) {
      const { records, reports } = await repaired(changed(files, name, undefined));
      assert.equal(records, all - countOf(files, name), name);
      assert.match(reports.join('\n'), new RegExp(`${name} .*: is missing`));
    }
  });

  it('reports a damaged end of a segment once', async () => {
    const bit = bytesOf(files, LOG).length * 8 - 60;
    const { records, reports } = await repaired(withFlippedBit(files, LOG, bit));
    assert.equal(records, all);
    assert.equal(reports.length, 1, reports.join('\n'));
    assert.match(reports[0]!, /bytes are damaged$/);
  });

  it('saves all if the manifest is missing or damaged', async () => {
    await savesAll(changed(files, 'manifest', undefined), /manifest : is missing/);
    for (let bit = 0; bit < bytesOf(files, 'manifest').length * 8; bit += 197) {
      await savesAll(withFlippedBit(files, 'manifest', bit), /manifest \d+: is damaged/);
    }
  });

  it('does not guess the partition count if it is greater than the specified one', async () => {
    const withoutParts = parts.reduce((left, name) => changed(left, name, undefined), files);
    const damaged = changed(withoutParts, 'manifest', undefined);
    await assert.rejects(repaired(damaged, 2), { code: 'PARTITION_COUNT_CHANGED' });
  });

  it('saves all but a damaged file `member`', async () => {
    const { found, member, reports } = await repaired(withFlippedBit(files, 'member', 300));
    assert.deepEqual(found, content);
    assert.equal(member.clusterState, undefined);
    assert.match(reports.join('\n'), /member \d+: is damaged: .* are lost; the defaults apply/);
  });

  it('replaces a missing file `member` with the defaults, and reports the loss', async () => {
    const { found, member, reports } = await repaired(changed(files, 'member', undefined));
    assert.deepEqual([found, member], [content, {}]);
    assert.match(reports.join('\n'), /member : is missing: .* are lost; the defaults apply/);
  });

  it('is not misled by copies and foreign files', async () => {
    const more = new Map(files);
    for (const name of [`${LOG} (copy)`, 'log-0000009999']) more.set(name, bytesOf(files, LOG));
    more.set('notes.txt', Buffer.from('?'));
    await savesAll(more, /notes\.txt : is not a file of a data directory/);
  });

  it('saves from a copy the records that the segment lacks', async () => {
    const copied = changed(files, 'a copy', bytesOf(files, LOG));
    await savesAll(changed(copied, LOG, undefined), /is missing/);
    const { at = 0 } = recordsOf(files, LOG)[0] ?? {};
    await savesAll(withFlippedBit(copied, LOG, at * 8 + 90), /bytes are damaged/);
  });

  it('saves all but a segment that has the content of another', async () => {
    const { records } = await repaired(changed(files, LOG, bytesOf(files, logs[0]!)));
    assert.equal(records, all - countOf(files, LOG));
  });

  it('reports no loss for a torn end, and a loss for one that had been synced', async () => {
    const killed = (await wholeDirectory(true)).files;
    const last = logs.at(-1) ?? '';
    const bytes = Buffer.from(bytesOf(killed, last));
    const { at = 0 } = recordsOf(killed, last).at(-1) ?? {};
    const torn = await repaired(changed(killed, last, bytes.fill(0, at + 20)));
    assert.equal(torn.damages, 0, torn.reports.join('\n'));
    const first = names.find((name) => name.startsWith('log-')) ?? '';
    const cut = await repaired(changed(files, first, bytesOf(files, first).subarray(0, 60)));
    assert.ok(cut.damages > 0);
  });
});
