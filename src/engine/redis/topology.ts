/**
 * Finds the topology of the store: which server is the primary of which slots. There are three
 * kinds: one server, a cluster, and a primary that Sentinels monitor; the servers of the URL
 * determine it. Tested by store-checks.spec.ts.
 */

import type { EngineUrl } from '../../base/engine-url.ts';
import { addressText, type ServerAddress } from '../../base/server-address.ts';
import { ClusterTopology } from './cluster-topology.ts';
import { ControlConnection } from './control-connection.ts';
import { SLOT_COUNT } from './layout.ts';
import type { ConnectionOptions } from './redis-connection.ts';
import { SentinelTopology } from './sentinel-topology.ts';
import { judged, modeOf } from './server-info.ts';
import { StoreUnusable } from './servers.ts';
import type { TopologyOptions, TopologySource } from './topology-source.ts';

/**
 * Asks the servers of the URL in turn for their mode. Rejects with StoreUnusable, or with another
 * error if none replies.
 */
export async function findTopology(options: TopologyOptions): Promise<TopologySource> {
  const { url, connection, onLost } = options;
  if (url.sentinelName !== undefined) return new SentinelTopology(options, url.sentinelName);
  for (const address of url.servers) {
    try {
      const mode = await modeAt(address, connection);
      if (mode === 'cluster') return new ClusterTopology(options);
      if (mode === 'sentinel') {
        throw new StoreUnusable(
          `Cannot use engine URL "${url.text}": ${addressText(address)} is a Sentinel; ` +
            'add ?sentinel=NAME with the name that it monitors',
        );
      }
      return oneServer(url, address);
    } catch (error) {
      if (error instanceof StoreUnusable) throw error;
      onLost(address, error as Error);
    }
  }
  throw new Error(`no server of ${url.text} answers`);
}

async function modeAt(address: ServerAddress, options: ConnectionOptions): Promise<string> {
  const control = new ControlConnection(address, options);
  try {
    return await modeOf(control);
  } catch (error) {
    throw judged(error, address, options.login);
  } finally {
    control.end();
  }
}

function oneServer(url: EngineUrl, address: ServerAddress): TopologySource {
  if (url.servers.length > 1) {
    throw new StoreUnusable(
      `Cannot use engine URL "${url.text}": it names several servers, but ${addressText(address)} ` +
        'is not part of a cluster; name one server, or Sentinels with ?sentinel=NAME',
    );
  }
  const topology = {
    ranges: [{ first: 0, last: SLOT_COUNT - 1, primary: address }],
    isWhole: true,
  };
  return {
    usualReplicaCount: 0,
    trials: [],
    assertPermitted: () => Promise.resolve(),
    lookUp: () => Promise.resolve(topology),
    agreesOn: () => Promise.resolve(true),
    end: () => {},
  };
}
