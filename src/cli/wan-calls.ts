/** The calls of `gridnode wan`, one row each. */
import type { PublisherStatus } from '../wan/wan-status.ts';
import { type ClusterCall, type ClusterResponse, messageOf } from './cluster-calls.ts';

export const WAN_CALLS: readonly ClusterCall[] = [
  {
    words: 'publishers',
    about: 'Print the publishers with their states and queues',
    path: 'wan/publishers',
    isRead: true,
    show: ({ publishers = [] }) => publishers.map(lineOf).join('\n'),
  },
  onPublisher('pause', 'Queue changes without sending them', 'pausePublisher'),
  onPublisher('resume', 'Queue changes and send them', 'resumePublisher'),
  onPublisher('stop', 'Drop changes from now on; waiting changes remain', 'stopPublisher'),
  onPublisher('clear', 'Drop the waiting changes', 'clearWanQueues'),
  {
    words: 'add [file]',
    about: 'Add publishers from a JSON file or standard input',
    path: 'wan/addWanConfig',
    takesFile: true,
    show: showAdded,
  },
  onPublisher('remove', 'Remove an added publisher and its waiting changes', 'removeWanConfig'),
];

/** The id of the publisher is optional if the replication has only one. */
function onPublisher(word: string, about: string, call: string): ClusterCall {
  return {
    words: `${word} <replication> [publisher]`,
    about,
    path: `wan/${call}`,
    parameterCount: 2,
    show: messageOf,
  };
}

function lineOf(publisher: PublisherStatus): string {
  const { wanReplicationName, wanPublisherId, clusterName, state, lastError } = publisher;
  const { queueSize, queueCapacity, lagMillis } = publisher;
  const { eventsSent, eventsDropped, eventsRejected } = publisher;
  return [
    `${wanReplicationName} ${wanPublisherId}`,
    `to ${clusterName}`,
    state,
    `${queueSize} of ${queueCapacity} wait, the oldest for ${lagMillis} ms`,
    `${eventsSent} sent, ${eventsDropped} dropped, ${eventsRejected} rejected`,
    ...(lastError === null ? [] : [lastError]),
  ].join('  ');
}

/** One line per publisher: whether it was added or ignored, and its id. */
function showAdded({
  message = 'done',
  addedPublisherIds = [],
  ignoredPublisherIds = [],
}: ClusterResponse): string {
  const added = addedPublisherIds.map((id) => `added    ${id}`);
  return [message, ...added, ...ignoredPublisherIds.map((id) => `ignored  ${id}`)].join('\n');
}
