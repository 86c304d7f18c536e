/**
 * Which data set a publisher's events go to: that of the first endpoint that has answered. Endpoints with
 * another one are not used, as each would get a part of the events, until no endpoint is known to have the
 * first any more. An endpoint that does not answer is known by its last answer.
 */
import type { TargetEndpoint } from './target-endpoint.ts';

interface Choice {
  readonly isUsable: boolean;
  /** Why it is not usable. */
  readonly fault: string;
  readonly warning: string | undefined;
}

export class TargetDataSet {
  current: Buffer | undefined;
  readonly #endpoints: readonly TargetEndpoint[];
  readonly #own: Buffer;

  constructor(endpoints: readonly TargetEndpoint[], own: Buffer) {
    this.#endpoints = endpoints;
    this.#own = own;
  }

  /** Whether the endpoint, which has answered with that data set, is used. */
  choose(endpoint: TargetEndpoint, dataSet: Buffer): Choice {
    if (dataSet.equals(this.#own)) {
      endpoint.dataSet = undefined;
      const fault =
        `${endpoint.text} has the data set of this member: it is this member itself, or was ` +
        'restored from a backup of it; gridnode restore --new-member makes a copy a member of its own';
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
      warning: `${endpoint.text} has a new data set: what was sent before is not there, a sync is due`,
    };
  }
}

const USABLE: Choice = { isUsable: true, fault: '', warning: undefined };
