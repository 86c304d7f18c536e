/**
 * A chunk of a lane's memory: events from the front on, one behind the other, so that those of a batch are
 * copied at once, and the heads of their records from the end on downward (lane-record.ts).
 */
import type { Viewed } from '../base/short-copies.ts';
import { offsetAt, RECORD_HEAD_BYTES } from './lane-record.ts';

/** A class, so that V8 has one shape for all of them: each head is read several times. */
export class LaneChunk implements Viewed {
  readonly bytes: Buffer;
  readonly view: DataView;
  /** Position of its first record, and the number of its records. */
  start = 0;
  count = 0;
  /** Bytes of the events. */
  used = 0;
  /** Whether it is read elsewhere, too, so that its bytes must stay. */
  isShared = false;

  constructor(length: number) {
    this.bytes = Buffer.allocUnsafeSlow(length);
    this.view = new DataView(this.bytes.buffer);
  }

  /** Whether there is room for one more record. */
  hasRoom(eventBytes: number): boolean {
    return this.used + eventBytes + (this.count + 1) * RECORD_HEAD_BYTES <= this.bytes.length;
  }

  /** Adds a record, for which there is room. Returns where its event is to be written. */
  add(eventBytes: number, mark: number, sequence: number, recordedMs: number): number {
    const { view, used } = this;
    const at = this.headAt(this.count++);
    view.setUint32(at, eventBytes, true);
    view.setUint32(at + 4, mark, true);
    view.setFloat64(at + 8, sequence, true);
    view.setFloat64(at + 16, recordedMs, true);
    view.setUint32(at + 24, used, true);
    this.used += eventBytes;
    return used;
  }

  /** Offset of the head of the record with that index. */
  headAt(index: number): number {
    return this.bytes.length - (index + 1) * RECORD_HEAD_BYTES;
  }

  /** Copies the events of the records from index `from` up to `behind`. Returns their bytes. */
  copyEvents(from: number, behind: number, to: Buffer, at: number): number {
    const { view, bytes, count, used } = this;
    const start = offsetAt(view, this.headAt(from));
    const end = behind === count ? used : offsetAt(view, this.headAt(behind));
    return bytes.copy(to, at, start, end);
  }
}
