/**
 * The endpoint groups that are enabled; changes take effect immediately. Tested by surface.spec.ts.
 */
import { ENDPOINT_GROUP_NAMES, type EndpointGroup } from '../config/endpoint-group.ts';

/** Returns the group's bit; with one bit per group, the check of a request needs no lookup. */
export function groupBit(group: EndpointGroup): number {
  return 1 << ENDPOINT_GROUP_NAMES.indexOf(group);
}

export class EndpointGroups {
  /** Bits of the served groups; 0 while REST is off. */
  enabled = 0;
  /** Whether REST is enabled at all. */
  isRestOn = true;

  constructor(isRestOn: boolean, groups: ReadonlyMap<EndpointGroup, boolean>) {
    this.set(isRestOn, groups);
  }

  /** Replaces the served groups. */
  set(isRestOn: boolean, groups: ReadonlyMap<EndpointGroup, boolean>): void {
    let enabled = 0;
    for (const [group, isEnabled] of groups) if (isEnabled) enabled |= groupBit(group);
    this.isRestOn = isRestOn;
    this.enabled = isRestOn ? enabled : 0;
  }
}
