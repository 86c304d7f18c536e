/**
 * Selects the data set that a publisher's events are sent to: that of the first endpoint that
 * responds. Endpoints with another data set are not used, as each would get only a part of the
 * events. The selection changes when no endpoint stores the first data set any more; for an
 * endpoint that does not respond, its last response is used. Tested by publisher.spec.ts.
 */
import type { Sender } from './batch.ts';
import type { TargetEndpoint } from './target-endpoint.ts';

interface Choice {
  readonly isUsable: boolean;
  /** The reason why the endpoint is not usable. */
  readonly fault: string;
  readonly warning: string | undefined;
}

export class TargetDataSet {
  current: Buffer | undefined;
  readonly #endpoints: readonly TargetEndpoint[];
  readonly #sender: Pick<Sender, 'dataSetId'>;

  constructor(endpoints: readonly TargetEndpoint[], sender: Pick<Sender, 'dataSetId'>) {
    this.#endpoints = endpoints;
    this.#sender = sender;
  }

  /** Decides whether the endpoint, which has responded with that data set, is used. */
  choose(endpoint: TargetEndpoint, dataSet: Buffer): Choice {
    if (dataSet.equals(this.#sender.dataSetId)) {
      endpoint.dataSet = undefined;
      const fault =
        `${endpoint.text} has the data set of this member: it is this member itself, or was ` +
        'restored from a backup of it; gridnode restore --new-member gives a copy a new identity';
      return { isUsable: false, fault, warning: undefined };
    }
    endpoint.dataSet = Buffer.from(dataSet);
    const { current } = this;
    if (current?.equals(dataSet)) return USABLE;
    if (current !== undefined && this.#endpoints.some((each) => each.dataSet?.equals(current))) {
      const fault =
        `${endpoint.text} has another data set than the endpoint in use: it is not used; ` +
        'all target endpoints of a publisher must be members of one cluster';
      return { isUsable: false, fault, warning: undefined };
    }
    this.current = endpoint.dataSet;
    if (current === undefined) return USABLE;
    return {
      ...USABLE,
      warning: `${endpoint.text} has a new data set, without the events sent before: a sync is needed`,
    };
  }
}

const USABLE: Choice = { isUsable: true, fault: '', warning: undefined };
