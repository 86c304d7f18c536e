/** Which endpoint groups are enabled now; changes take effect at once. */
import { ENDPOINT_GROUP_NAMES, type EndpointGroup } from '../config/endpoint-group.ts';

/** One bit a group, so that the check of a request needs no lookup. */
export function groupBit(group: EndpointGroup): number {
  return 1 << ENDPOINT_GROUP_NAMES.indexOf(group);
}

export class EndpointGroups {
  /** The bits of the groups that are served: none while REST is off. */
  enabled = 0;
  /** Whether any group is served. */
  isRestOn = true;

  constructor(isRestOn: boolean, groups: ReadonlyMap<EndpointGroup, boolean>) {
    this.set(isRestOn, groups);
  }

  /** Replaces the groups that are served, from now on. */
  set(isRestOn: boolean, groups: ReadonlyMap<EndpointGroup, boolean>): void {
    let enabled = 0;
    for (const [group, isEnabled] of groups) if (isEnabled) enabled |= groupBit(group);
    this.isRestOn = isRestOn;
    this.enabled = isRestOn ? enabled : 0;
  }
}
