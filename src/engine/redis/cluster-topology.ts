/**
 * The topology of Redis Cluster, read from any of its nodes. The last node that reported it is
 * asked first, over a connection that stays open; nodes that failed are asked last. A node that is
 * cut off from the others detects it, so the report of a node whose state is not ok is used only if
 * no better one is found. Tested by changing-servers.spec.ts.
 */

import { addressText, type ServerAddress } from '../../base/server-address.ts';
import { ControlConnection, type ReplyValue } from './control-connection.ts';
import { isUnknownHost } from './error-reply.ts';
import { SLOT_COUNT } from './layout.ts';
import { trial } from './rights.ts';
import { fieldsIn, judged } from './server-info.ts';
import { StoreUnusable } from './servers.ts';
import type { SlotRange, Topology, TopologyOptions, TopologySource } from './topology-source.ts';

/** Maximum number of nodes with a state other than ok that one lookup asks. */
const NOT_OK_MAX = 3;

interface NodeReport extends Topology {
  readonly coveredCount: number;
  /** Every server of the cluster. */
  readonly nodes: readonly ServerAddress[];
}

export class ClusterTopology implements TopologySource {
  readonly usualReplicaCount = 1;
  readonly trials = ['CLUSTER INFO', 'CLUSTER SLOTS', 'ASKING'].map((command) => trial(command));
  readonly #options: TopologyOptions;
  #nodes: readonly ServerAddress[];
  /** Nodes that failed when they were last asked, by address. */
  readonly #failed = new Set<string>();
  #control: ControlConnection | undefined;

  constructor(options: TopologyOptions) {
    this.#options = options;
    this.#nodes = options.url.servers;
  }

  async lookUp(): Promise<Topology> {
    let best: NodeReport | undefined;
    let fault: Error | undefined;
    let notOkCount = 0;
    for (const node of this.#inOrder()) {
      const report = await this.#ask(node);
      if (report instanceof Error) {
        if (!(fault instanceof StoreUnusable)) fault = report;
        continue;
      }
      if (best === undefined || report.isWhole || report.coveredCount > best.coveredCount)
        best = report;
      if (report.isWhole || ++notOkCount === NOT_OK_MAX) break;
    }
    if (best === undefined) throw fault ?? new Error('no server of the cluster answers');
    this.#setNodes(best.nodes);
    return best;
  }

  async assertPermitted(): Promise<void> {}

  async agreesOn(): Promise<boolean> {
    return true;
  }

  end(): void {
    this.#control?.end();
  }

  /**
   * The nodes in the order in which they are asked. Includes the nodes of the URL in case all
   * others are gone.
   */
  #inOrder(): ServerAddress[] {
    const last = this.#control?.address;
    const nodes = new Map<string, ServerAddress>();
    const all = [...(last === undefined ? [] : [last]), ...this.#nodes];
    for (const node of [...all, ...this.#options.url.servers]) nodes.set(addressText(node), node);
    const isFailed = ([text]: readonly [string, ServerAddress]) => this.#failed.has(text);
    const entries = [...nodes];
    return [
      ...entries.filter((entry) => !isFailed(entry)),
      ...entries.filter((entry) => isFailed(entry)),
    ].map(([, node]) => node);
  }

  async #ask(node: ServerAddress): Promise<NodeReport | Error> {
    try {
      const control = this.#connect(node);
      const [state, slots] = await Promise.all([
        control.ask('CLUSTER', 'INFO'),
        control.ask('CLUSTER', 'SLOTS'),
      ]);
      this.#failed.delete(addressText(node));
      return reportOf(node, fieldsIn(state).get('cluster_state') === 'ok', slots);
    } catch (error) {
      this.#failed.add(addressText(node));
      this.#options.onLost(node, error as Error);
      return judged(error, node, this.#options.connection.login);
    }
  }

  #connect(node: ServerAddress): ControlConnection {
    const current = this.#control;
    if (
      current !== undefined &&
      !current.isEnded &&
      addressText(current.address) === addressText(node)
    ) {
      return current;
    }
    current?.end();
    const made = new ControlConnection(node, this.#options.connection);
    this.#control = made;
    return made;
  }

  #setNodes(nodes: readonly ServerAddress[]): void {
    this.#nodes = nodes;
    const current = new Set([...nodes, ...this.#options.url.servers].map(addressText));
    for (const failed of this.#failed) if (!current.has(failed)) this.#failed.delete(failed);
  }
}

/**
 * Reads the reply to CLUSTER SLOTS: arrays of first, last, primary and replicas, each [host, port,
 * …].
 */
function reportOf(from: ServerAddress, isOk: boolean, slots: ReplyValue): NodeReport {
  const ranges: SlotRange[] = [];
  const nodes: ServerAddress[] = [];
  let coveredCount = 0;
  for (const [first, last, ...servers] of rows(slots)) {
    const addresses = rows(servers).map(([host, port]) => addressOf(host, port, from));
    const [primary] = addresses;
    if (typeof first !== 'number' || typeof last !== 'number' || primary === undefined) continue;
    if (!(first >= 0 && last < SLOT_COUNT))
      throw new Error(`the slots ${first} to ${last} are out of range`);
    nodes.push(...addresses);
    ranges.push({ first, last, primary });
    coveredCount += last - first + 1;
  }
  return { ranges, nodes, coveredCount, isWhole: isOk && coveredCount === SLOT_COUNT };
}

function rows(value: ReplyValue | undefined): (readonly ReplyValue[])[] {
  return Array.isArray(value) ? value.filter((row) => Array.isArray(row)) : [];
}

function addressOf(host: unknown, port: unknown, from: ServerAddress): ServerAddress {
  const name = typeof host === 'string' ? host : null;
  return {
    host: name === null || isUnknownHost(name) ? from.host : name,
    port: typeof port === 'number' ? port : from.port,
  };
}
