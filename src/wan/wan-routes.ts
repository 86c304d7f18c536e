/** The rows of WAN replication (group WAN). Tested by surface/surface.spec.ts. */
import {
  administering,
  document,
  informing,
  optionalText,
  type Parameter,
  receiving,
  text,
} from '../surface/route.ts';

/** Maximum length of the name of a replication, publisher or map, in bytes. */
const NAME_BYTES_MAX = 65_536;
/** Maximum length of an added configuration, in bytes. */
const ADDED_TEXT_BYTES_MAX = 1_048_576;
/**
 * Bytes that a message may have beyond `body-bytes-max`, for the fields around a value of that
 * length.
 */
export const MESSAGE_BYTES_FURTHER = 1_048_576;

const PUBLISHER = [text('replication', NAME_BYTES_MAX), optionalText('publisher', NAME_BYTES_MAX)];
const MAP = [...PUBLISHER, text('map', NAME_BYTES_MAX)];
const SYNC_ALL = 'Send all maps that refer to the replication';

export const WAN_ROUTES = {
  syncMap: calling('sync/map', 'Send a map to the target of a publisher', MAP),
  syncAllMaps: calling('sync/allmaps', SYNC_ALL, PUBLISHER),
  syncAllMapsToo: calling('sync/allMaps', SYNC_ALL, PUBLISHER),
  clearPublisher: calling('clearWanQueues', 'Drop the waiting changes', PUBLISHER, 'clear'),
  addPublishers: {
    ...calling(
      'addWanConfig',
      'Add publishers',
      [document('configuration', ADDED_TEXT_BYTES_MAX)],
      'add',
    ),
    about: 'Add publishers from a JSON file or standard input',
  },
  removePublisher: calling(
    'removeWanConfig',
    'Remove an added publisher and its waiting changes',
    PUBLISHER,
    'remove',
  ),
  pausePublisher: calling(
    'pausePublisher',
    'Queue changes without sending them',
    PUBLISHER,
    'pause',
  ),
  stopPublisher: calling(
    'stopPublisher',
    'Drop changes from now on; waiting changes remain',
    PUBLISHER,
    'stop',
  ),
  resumePublisher: calling('resumePublisher', 'Queue changes and send them', PUBLISHER, 'resume'),
  checkMap: calling('consistencyCheck/map', 'Compare a map with the map of the target', MAP),
  receiveMessage: receiving({
    path: 'rest/wan/receive',
    group: 'WAN',
    summary: 'Receive a message from another member',
    statuses: [200, 409],
    furtherContentBytes: MESSAGE_BYTES_FURTHER,
  }),
  publishers: informing('WAN', 'rest/wan/publishers', 'The publishers', {
    statuses: [200, 409],
    command: 'publishers',
    about: 'Print the publishers with their states and queues',
  }),
  taskProgress: informing(
    'WAN',
    'rest/wan/sync/progress/{uuid}',
    'The progress of a synchronisation or check',
    { statuses: [200, 404, 409] },
  ),
  belowWan: { prefix: 'rest/wan', group: 'WAN', refusal: 'PATH_UNKNOWN' },
} as const;

function calling(path: string, summary: string, parameters: readonly Parameter[], command = '') {
  const further = { statuses: [200, 409], parameters, command } as const;
  return administering('WAN', `rest/wan/${path}`, summary, further);
}
