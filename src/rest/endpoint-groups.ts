/** Which endpoint groups are enabled now (INTERFACE: endpoint groups); changes take effect at once. */
import type { EndpointGroup } from '../config/endpoint-group.ts';

export class EndpointGroups {
  #enabled: ReadonlySet<EndpointGroup>;

  constructor(groups: ReadonlyMap<EndpointGroup, boolean>) {
    this.#enabled = enabledOf(groups);
  }

  isEnabled(group: EndpointGroup): boolean {
    return this.#enabled.has(group);
  }

  /** Why a request to the group is refused, and what enables it. */
  refusal(group: EndpointGroup): string {
    return (
      `Cannot serve this path: endpoint group ${group} is disabled; ` +
      `network.rest-api.endpoint-groups.${group}.enabled or --enable-group ${group} enables it`
    );
  }
}

function enabledOf(groups: ReadonlyMap<EndpointGroup, boolean>): ReadonlySet<EndpointGroup> {
  return new Set([...groups].filter(([, isEnabled]) => isEnabled).map(([group]) => group));
}
