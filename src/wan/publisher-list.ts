/**
 * The publishers of a member, and the counts of removed ones. Tested by wan-replications.spec.ts.
 */
import { GridError } from '../base/errors.ts';
import { counted } from '../base/quantities.ts';
import type { EventCounts } from './removed-publishers.ts';
import { RemovedPublishers } from './removed-publishers.ts';
import { PUBLISHERS_MAX, type WanPublisherOptions } from './wan-config.ts';
import type { WanLog } from './wan-engine.ts';
import type { PublisherStatus } from './wan-status.ts';

interface Listed {
  readonly replication: string;
  readonly id: string;
  readonly eventCounts: EventCounts;
  readonly status: PublisherStatus;
}

export class PublisherList<Publisher extends Listed> {
  readonly #publishers: Publisher[] = [];
  readonly #removed = new RemovedPublishers();

  /** Every publisher: those of the configuration first, then in the order added. */
  get all(): readonly Publisher[] {
    return this.#publishers;
  }

  /**
   * Returns the publisher with exactly these names. An empty id stands for the only publisher of
   * the replication. Throws GridError: WAN_UNKNOWN, or WAN_AMBIGUOUS if several publishers match an
   * empty id.
   */
  named(replication: string, publisherId: string): Publisher {
    const own = this.#publishers.filter((each) => each.replication === replication);
    if (publisherId === '' && own.length > 1) {
      const publisherIds = own.map(({ id }) => id).join(', ');
      throw new GridError('WAN_AMBIGUOUS', { replication, publisherIds });
    }
    const found = publisherId === '' ? own[0] : own.find(({ id }) => id === publisherId);
    if (found === undefined) throw new GridError('WAN_UNKNOWN', { replication, publisherId });
    return found;
  }

  /**
   * Adds the publishers whose ids the replication does not have yet; the replication may be new.
   * Adds all or none: throws GridError WAN_PUBLISHERS_MAX. Ids are unique. `make` gets the counts of
   * a removed publisher with the same names.
   */
  add(
    replication: string,
    publishers: readonly WanPublisherOptions[],
    make: (options: WanPublisherOptions, earlierCounts: EventCounts) => Publisher,
  ): void {
    const existing = this.#publishers.filter((each) => each.replication === replication);
    const added = publishers.filter(
      ({ publisherId }) => !existing.some(({ id }) => id === publisherId),
    );
    if (this.#publishers.length + added.length > PUBLISHERS_MAX) {
      throw new GridError('WAN_PUBLISHERS_MAX', { replication, max: PUBLISHERS_MAX });
    }
    for (const options of added) {
      this.#publishers.push(make(options, this.#removed.take(replication, options.publisherId)));
    }
  }

  /** Removes the publisher, whose counts no longer change. */
  remove(publisher: Publisher): void {
    this.#publishers.splice(this.#publishers.indexOf(publisher), 1);
    this.#removed.add(publisher.replication, publisher.id, publisher.eventCounts);
  }

  /** Logs how many events of each publisher were not sent. `kept`: where they remain. */
  logUnsent(log: WanLog, kept: string): void {
    for (const { status } of this.#publishers) {
      const { queueSize: events, wanReplicationName, wanPublisherId } = status;
      if (events === 0) continue;
      const names = { replication: wanReplicationName, publisher: wanPublisherId };
      const unsent = counted(events, 'event was not sent', 'events were not sent');
      log.warn({ ...names, events }, `WAN publisher: ${unsent}${kept}`);
    }
  }
}
