/** Reports the faults of a data directory: at once, or when it is known whether they are damage. */
import { isBefore } from './log-end-file.ts';
import type { LogPlace } from './log-place.ts';
import { describeRecord, type Gap } from './record-scan.ts';
import type { ReadSegment } from './segment-reader.ts';

export interface Finding {
  readonly file: string;
  /** Undefined where the finding is about the whole file. */
  readonly offset?: number;
  readonly what: string;
  /** Whether data is lost, or may be; otherwise the finding is a mere note. */
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
  /** Gaps behind the last whole record of the log so far: damage only if another record follows. */
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
    const found = describeRecord(segment, offset);
    const seems = found === undefined ? '' : `; there seems to have been ${found}`;
    this.tellDamage(file, `${bytes} bytes are damaged${seems}`, offset);
  }

  addToTail(gap: TailGap): void {
    this.#tail.push(gap);
  }

  /** Called when more of the log follows: the gaps so far are damage, not its torn end. */
  flushTail(): void {
    for (const gap of this.#tail.splice(0)) this.tellGap(gap);
  }

  /** Called at the end of the log: the gaps left are its torn end, except those before `proven`. */
  endTail(proven: LogPlace): void {
    for (const tail of this.#tail.splice(0)) {
      const { segment, file, gap } = tail;
      if (isBefore({ segment: segment.id.number, offset: gap.offset }, proven)) this.tellGap(tail);
      else {
        const what = `${gap.bytes} bytes are the torn end of the log: nothing promised is lost`;
        this.tell({ file, offset: gap.offset, what, isDamage: false });
      }
    }
  }
}
