/** The metrics of the member and its cluster. */
import { type Figures, gauge } from '../base/figures.ts';
import { VERSION } from '../base/program-version.ts';
import { CLUSTER_STATES, type Cluster, type ClusterState } from './cluster.ts';

const METRICS = {
  info: gauge('gridnode_info', 'The member', 'version', 'node', 'cluster', 'instance'),
  ready: gauge('gridnode_ready', 'Whether the member serves requests'),
  safe: gauge('gridnode_cluster_safe', 'Whether stored changes survive the loss of a member'),
  members: gauge('gridnode_cluster_members', 'Members of the cluster'),
  state: gauge('gridnode_cluster_state', 'State of the cluster', 'state'),
};

/** `isReady`: whether the cluster and the engine are. */
export function reportCluster(
  to: Figures,
  cluster: Cluster,
  isReady: boolean,
  [clusterName, instanceName]: readonly [string, string],
): void {
  to.add(METRICS.info, 1, VERSION, process.version, clusterName, instanceName);
  to.add(METRICS.ready, isReady ? 1 : 0);
  to.add(METRICS.safe, cluster.isSafe ? 1 : 0);
  to.add(METRICS.members, cluster.members.length);
  to.addState(METRICS.state, STATES, cluster.state);
}

const STATES: readonly ClusterState[] = [...CLUSTER_STATES, 'IN_TRANSITION'];
