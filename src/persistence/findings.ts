/** What is found wrong with a data directory, and told: at once, or when it is known what it means. */
import { isBefore } from './end-record.ts';
import { describeRecord, type Gap } from './record-scan.ts';
import type { ReadSegment } from './segment-reader.ts';
import type { LogPlace } from './write-ahead-log.ts';

export interface Finding {
  readonly file: string;
  /** Undefined where it is about the file as a whole. */
  readonly offset?: number;
  readonly what: string;
  /** Whether something is lost, or may be; else it is only told. */
  readonly isDamage: boolean;
}

interface TailGap {
  readonly segment: ReadSegment;
  readonly file: string;
  readonly gap: Gap;
}

export class Findings {
  damages = 0;
  readonly #onFinding: (finding: Finding) => void;
  /** What lies behind the last whole record of the log so far: damage only if another follows. */
  readonly #tail: TailGap[] = [];

  constructor(onFinding: (finding: Finding) => void) {
    this.#onFinding = onFinding;
  }

  tell(finding: Finding): void {
    if (finding.isDamage) this.damages++;
    this.#onFinding(finding);
  }

  tellDamage(file: string, what: string, offset?: number): void {
    this.tell({ file, what, isDamage: true, ...(offset === undefined ? {} : { offset }) });
  }

  tellGap({ segment, file, gap }: TailGap): void {
    const { offset, bytes } = gap;
    const held = describeRecord(segment, offset);
    const seems = held === undefined ? '' : `; there seems to have been ${held}`;
    this.tellDamage(file, `${bytes} bytes are damaged${seems}`, offset);
  }

  addToTail(gap: TailGap): void {
    this.#tail.push(gap);
  }

  /** More of the log follows: what lies before is not its torn end. */
  flushTail(): void {
    for (const gap of this.#tail.splice(0)) this.tellGap(gap);
  }

  /** What is left behind the end of the log is its torn end, but for what it had come to for sure. */
  endTail(proven: LogPlace): void {
    for (const tail of this.#tail.splice(0)) {
      const { segment, file, gap } = tail;
      if (isBefore({ segment: segment.id.number, offset: gap.offset }, proven)) this.tellGap(tail);
      else {
        const what = `${gap.bytes} bytes are the torn end of the log, which nobody was promised`;
        this.tell({ file, offset: gap.offset, what, isDamage: false });
      }
    }
  }
}
