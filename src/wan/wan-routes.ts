/** The rows of WAN replication (group WAN). Tested by surface/surface.spec.ts. */
import {
  administering,
  document,
  informing,
  MEMBER,
  optionalText,
  route,
  text,
} from '../surface/route.ts';

/** Maximum length of the name of a replication, publisher or map, in bytes. */
const NAME_BYTES_MAX = 65_536;
/**
 * Bytes that a message may have beyond `body-bytes-max`, for the fields around a value of that
 * length.
 */
export const MESSAGE_BYTES_FURTHER = 1_048_576;

const PUBLISHER = [text('replication', NAME_BYTES_MAX), optionalText('publisher', NAME_BYTES_MAX)];
const MAP = { parameters: [...PUBLISHER, text('map', NAME_BYTES_MAX)] };
const SYNC_ALL = 'Send all maps that refer to the replication';

export const WAN_ROUTES = {
  syncMap: calling('sync/map', 'Send a map to the target of a publisher', MAP),
  syncAllMaps: calling('sync/allmaps', SYNC_ALL),
  syncAllMapsToo: calling('sync/allMaps', SYNC_ALL),
  clearPublisher: calling('clearWanQueues', 'Drop the waiting changes', { command: 'clear' }),
  addPublishers: calling('addWanConfig', 'Add publishers', {
    parameters: [document('configuration')],
    command: 'add',
    about: 'Add publishers from a JSON file or standard input',
  }),
  removePublisher: calling('removeWanConfig', 'Remove an added publisher and its waiting changes', {
    command: 'remove',
  }),
  pausePublisher: calling('pausePublisher', 'Queue changes without sending them', {
    command: 'pause',
  }),
  stopPublisher: calling('stopPublisher', 'Drop changes from now on; waiting changes remain', {
    command: 'stop',
  }),
  resumePublisher: calling('resumePublisher', 'Queue changes and send them', { command: 'resume' }),
  checkMap: calling('consistencyCheck/map', 'Compare a map with the map of the target', MAP),
  receiveMessage: route({
    method: 'POST',
    path: 'rest/wan/receive',
    group: 'WAN',
    permission: MEMBER,
    summary: 'Receive a message from another member',
    statuses: [200, 409],
    furtherContentBytes: MESSAGE_BYTES_FURTHER,
    mayWait: true,
  }),
  publishers: informing(
    'WAN',
    'rest/wan/publishers',
    'The publishers with their states and queues',
    { statuses: [200, 409], command: 'publishers' },
  ),
  taskProgress: informing(
    'WAN',
    'rest/wan/sync/progress/{uuid}',
    'The progress of a synchronisation or check',
    { statuses: [200, 404, 409] },
  ),
  belowWan: { prefix: 'rest/wan', group: 'WAN' },
} as const;

/** A call about a publisher, unless `further` has other parameters. */
function calling(path: string, summary: string, further?: Parameters<typeof administering>[3]) {
  const own = { statuses: [200, 409], parameters: PUBLISHER, ...further } as const;
  return administering('WAN', `rest/wan/${path}`, summary, own);
}
