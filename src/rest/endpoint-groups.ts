/** Which endpoint groups are enabled now; changes take effect at once. */
import { ENDPOINT_GROUP_NAMES, type EndpointGroup } from '../config/endpoint-group.ts';

/** One bit a group, so that a request's is tested without looking anything up. */
export function groupBit(group: EndpointGroup): number {
  return 1 << ENDPOINT_GROUP_NAMES.indexOf(group);
}

export class EndpointGroups {
  /** The bits of the enabled groups. */
  enabled = 0;

  constructor(groups: ReadonlyMap<EndpointGroup, boolean>) {
    for (const [group, isEnabled] of groups) if (isEnabled) this.enabled |= groupBit(group);
  }

  /** Why a request to the group is refused, and what enables it. */
  refusal(group: EndpointGroup): string {
    return (
      `Cannot serve this path: endpoint group ${group} is disabled; ` +
      `network.rest-api.endpoint-groups.${group}.enabled or --enable-group ${group} enables it`
    );
  }
}
