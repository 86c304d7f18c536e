/**
 * The names of maps or queues that have metrics of their own. A reported name remains in the list
 * while it exists, even if it is removed and added again between two scrapes; then the next one by
 * id takes its place. A scrape looks up each name of the list, and visits a bounded number of ids to
 * complete it, so its work does not depend on the number of names.
 */
import { percentEncoded } from '../../base/percent-encoding.ts';
import { Span } from '../../base/span.ts';
import type { StoredNames } from '../data-figures.ts';

/** Number of ids that a scrape visits, at most, beyond the number of places in the list. */
const EXTRA_VISITS_MAX = 1000;

interface ReportedName {
  readonly name: Span;
  /** The name as it is in a URL. */
  readonly label: string;
  /** Its id during the scrape. */
  id: number;
}

export class ReportedNames {
  readonly #countMax: number;
  #reported: ReportedName[] = [];
  /** The last visited id: the next visit continues after it. */
  #lastId = 0;

  /** `countMax`: maximum number of reported names. */
  constructor(countMax: number) {
    this.#countMax = countMax;
  }

  /** Returns the reported names, with their current ids. */
  update(names: StoredNames): readonly Readonly<ReportedName>[] {
    for (const each of this.#reported) each.id = names.find(each.name);
    this.#reported = this.#reported.filter(({ id }) => id !== 0);
    this.#complete(names);
    return this.#reported;
  }

  #complete(names: StoredNames): void {
    const count = Math.min(this.#countMax, names.count);
    if (this.#reported.length >= count) return;
    const ids = new Set(this.#reported.map(({ id }) => id));
    const name = new Span();
    let visits = this.#countMax + EXTRA_VISITS_MAX;
    let rounds = 0;
    while (visits-- > 0 && rounds < 2 && this.#reported.length < count) {
      const id = names.next(this.#lastId);
      this.#lastId = id;
      if (id === 0) rounds++;
      if (id === 0 || ids.has(id)) continue;
      names.name(id, name);
      if (name.length === 0) continue;
      const bytes = name.toBuffer();
      ids.add(id);
      this.#reported.push({ name: Span.of(bytes), label: percentEncoded(bytes), id });
    }
  }
}
