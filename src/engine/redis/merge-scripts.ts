/**
 * The scripts that merge changes of other clusters into a partition, by the rules of
 * StoredEngine.merge (../stored-engine.ts), and those of clears. layout.ts describes the keys that they
 * use.
 *
 * A map without a replication reference keeps the tombstones of merged removals only: its own
 * clients' deletes leave none. An expired entry that a merge finds leaves one just below its version.
 * The entries and tombstones of a map with a reference keep their origin (stored-value.ts); a change
 * that wins is marked for the publishers that forward it (marked-scripts.ts).
 *
 * Tested by redis-merges.spec.ts.
 */
import { APPLIED, KNOWN, OUTDATED } from '../engine.ts';
import { LATEST_UPDATE, PASS_THROUGH, PUT_IF_ABSENT } from '../merge-policy.ts';
import { DELETE } from '../mutation.ts';
import { HEAD_LENGTH, SHARED } from './map-scripts.ts';
import { script } from './scripts.ts';
import { BURY_EXPIRED, tombstoneFunctions, VERSIONS } from './tombstone-functions.ts';

/** Lifetime of a mark, in seconds: a duplicate arrives earlier. */
const MARK_SECONDS = 86_400;
/** Elements that the next step of HSCAN returns, as values may be long. */
const SCANNED_COUNT = 4;
/** Limits for the entries that one step of a clear looks at, and for their bytes. */
const CLEARED_MAX = 512;
const CLEARED_BYTES_MAX = 1_048_576;
/** Length of an event's numbers, before its publishers, in bytes. */
export const NUMBERS_BYTES = 40;
/** Digits of the name of a server's run; cursors of HSCAN are valid in that run only. */
const RUN_DIGITS = 8;

/** Codes of MERGE: every event is merged, or the reason why it ends before one. */
const MERGED = 0;
/** A later epoch of the lane is recorded. */
export const LATER_EPOCH = 1;
/** The lane has passed the section's first number. */
export const NUMBERS_PASSED = 2;
/** The member has to compare the next event with the returned entry. */
export const EQUAL_VERSIONS = 3;
/** The entry of the next event has a format that this version does not know. */
export const FOREIGN_ENTRY = 4;

/**
 * Functions on the clock. Key 3: clock. `raise` moves it past a version: partition-clock.ts describes
 * the number of a version. `clockText` returns it as digits. `saveClock` stores it if it has moved.
 */
const CLOCK_FUNCTIONS = `
local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
local latest = clock
local function numberOf(high, low)
  local ms = high * 65536 + math.floor(low / 65536)
  return ms * 1000 + math.floor(low % 65536 * 1000 / 65536)
end
local function raise(high, low)
  latest = math.max(latest, numberOf(high, low))
end
local function clockText()
  return string.format('%.0f', latest)
end
local function saveClock()
  if latest > clock then redis.call('SET', KEYS[3], clockText()) end
end
`;

const MERGE_SOURCE = `${SHARED}${HEAD_LENGTH}${VERSIONS}${tombstoneFunctions(1)}${BURY_EXPIRED}${CLOCK_FUNCTIONS}
local OWN = string.rep(string.char(0), 4)
local function makerOf(value)
  if string.byte(value, 1) < 32 then return OWN end
  local at = originAt(value)
  return string.sub(value, at + 1, at + 4)
end
local function lastOf(value)
  local flags = string.byte(value, 1)
  if math.floor(flags / 4) % 2 == 0 then return 0 end
  local from = math.floor(flags / 8) % 2 == 1 and 20 or 10
  local high, low = struct.unpack('>I2I4', value, from)
  return high * 4294967296 + low
end
local function stable(value)
  local flags, at = string.byte(value, 1) % 16, originAt(value)
  local ends = math.floor(flags / 8) % 2 == 1 and 16 or 10
  return string.char(flags) .. string.sub(value, ends, at)
end
local function isSame(held, head, value)
  return stable(held) == stable(head) and string.sub(held, headLength(held) + 1) == value
end
local function wins(policy, order, expiry, held)
  if policy == ${PASS_THROUGH} then return true end
  if policy == ${PUT_IF_ABSENT} then return false end
  if policy == ${LATEST_UPDATE} then return order > 0 end
  local other = lastOf(held)
  return expiry == 0 or (other ~= 0 and expiry >= other)
end
local epoch, began = tonumber(ARGV[1]), tonumber(ARGV[2])
local syncHigh, syncLow = struct.unpack('>I4I4', ARGV[3])
local retention, limit = tonumber(ARGV[4]), tonumber(ARGV[5])
local maps = (#KEYS - 5 - ARGV[9]) / 2
local withoutRoom, marked = {}, 0
for publisher = 1, tonumber(ARGV[9]) do withoutRoom[publisher] = 0 end
local function addMarks(mark, publishers)
  latest = math.max(latest + 1, tonumber(ARGV[8]))
  for at = 1, #publishers do
    local publisher = string.byte(publishers, at)
    local marks, room = KEYS[5 + 2 * maps + publisher], tonumber(ARGV[9 + maps + publisher])
    if redis.call('ZCARD', marks) >= room and not redis.call('ZSCORE', marks, mark) then
      withoutRoom[publisher] = withoutRoom[publisher] + 1
    else
      redis.call('ZADD', marks, clockText(), mark)
      marked = 1
    end
  end
end
local lastEpoch, first, last, notTaken = 0, 0, 0, 0
local mark = redis.call('GET', KEYS[4])
if mark then lastEpoch, first, last, notTaken = struct.unpack('>dddd', mark) end
if epoch < lastEpoch then return {${LATER_EPOCH}, lastEpoch} end
if epoch > lastEpoch then first, last, notTaken = 0, 0, 0 end
if began < first then return {${NUMBERS_PASSED}, first} end
if began > first then notTaken = 0 end
local code, entry, buried, outcomes, ofMaps = ${MERGED}, '', 0, {}, {}
local hasTombstones = redis.call('HLEN', KEYS[1]) > 0
local start = 10 + maps + #withoutRoom
local at = start
while at <= #ARGV do
  local key, head, value = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local high, low, maker, operation, policy, map, number, ends, expiry =
    struct.unpack('>I4I4c4BBHddd', ARGV[at + 3])
  local outcome = 0
  if number > last then
    local hash, name = KEYS[4 + 2 * map], ARGV[9 + map]
    local prefix = #name .. ':' .. name
    local mapHigh, mapLow, keyHigh, keyLow = 0, 0, 0, 0
    if hasTombstones then
      if not ofMaps[map] then ofMaps[map] = {tombstone(prefix)} end
      mapHigh, mapLow = ofMaps[map][1], ofMaps[map][2]
      keyHigh, keyLow = tombstone(prefix .. key)
    end
    local held = redis.call('HGET', hash, key)
    local heldHigh, heldLow = 0, 0
    if held then
      local format = #held < 9 and 0 or math.floor(string.byte(held, 1) / 16)
      if format < 1 or format > 2 then
        code = ${FOREIGN_ENTRY}
        break
      end
      heldHigh, heldLow = struct.unpack('>I4I4', held, 2)
      if not present(held) then
        keyHigh, keyLow = buryExpired(prefix .. key, held, keyHigh, keyLow)
        hasTombstones, buried = true, buried + 1
        redis.call('HDEL', hash, key)
        held, heldHigh, heldLow = false, 0, 0
      end
    end
    local removedHigh, removedLow = keyHigh, keyLow
    if isAfter(mapHigh, mapLow, keyHigh, keyLow) then removedHigh, removedLow = mapHigh, mapLow end
    local isRemoved = not isAfter(high, low, removedHigh, removedLow)
    outcome = ${APPLIED}
    if operation == ${DELETE} then
      local isEarlier = held and isAfter(heldHigh, heldLow, high, low)
      if high == keyHigh and low == keyLow then outcome = ${KNOWN}
      elseif isRemoved then outcome = ${OUTDATED}
      elseif isEarlier and (policy ~= ${PASS_THROUGH} or makerOf(held) == maker) then outcome = ${OUTDATED}
      else
        bury(prefix .. key, packed(high, low), 'd', head)
        hasTombstones, buried = true, buried + 1
        if held then redis.call('HDEL', hash, key) end
        if isEarlier then raise(after(heldHigh, heldLow)) end
      end
    elseif isRemoved and
        (policy == ${LATEST_UPDATE} or isAfter(removedHigh, removedLow, syncHigh, syncLow)) then
      outcome = ${OUTDATED}
    else
      local isLater = not isRemoved
      if held and isAfter(heldHigh, heldLow, mapHigh, mapLow) then
        local order = isAfter(high, low, heldHigh, heldLow) and 1 or -1
        if high == heldHigh and low == heldLow then
          if isSame(held, head, value) then order = 0
          elseif at == start and ARGV[7] == redis.sha1hex(held) then order = tonumber(ARGV[6])
          else
            code, entry = ${EQUAL_VERSIONS}, held
            break
          end
        end
        if order == 0 then outcome = ${KNOWN}
        elseif order < 0 and makerOf(held) == maker and
            isAfter(heldHigh, heldLow, syncHigh, syncLow) then outcome = ${OUTDATED}
        elseif not wins(policy, order, expiry, held) then outcome = ${OUTDATED}
        else
          isLater = isLater and order > 0
          if isAfter(heldHigh, heldLow, removedHigh, removedLow) then
            removedHigh, removedLow = heldHigh, heldLow
          end
        end
      end
      if outcome == ${APPLIED} then
        if not isLater then
          local nextHigh, nextLow = after(removedHigh, removedLow)
          raise(nextHigh, nextLow)
          local origin = originIn(head)
          if #origin > 5 then origin = OWN .. string.sub(origin, 5) else origin = '' end
          local flags = string.char((origin == '' and 16 or 32) + string.byte(head, 1) % 16)
          head = flags .. packed(nextHigh, nextLow) .. string.sub(head, 10, originAt(head)) .. origin
        end
        redis.call('HSET', hash, key, head .. value)
        if ends > 0 then
          redis.call('ZADD', KEYS[5 + 2 * map], ends, key)
          redis.call('ZADD', KEYS[5], 'LT', ends, name)
        end
      end
    end
    raise(high, low)
    if outcome == ${APPLIED} and #ARGV[at + 3] > ${NUMBERS_BYTES} then
      addMarks(prefix .. key, string.sub(ARGV[at + 3], ${NUMBERS_BYTES + 1}))
    end
    if outcome == ${OUTDATED} and syncHigh + syncLow > 0 then notTaken = notTaken + 1 end
    last = number
  end
  outcomes[#outcomes + 1] = string.char(outcome)
  at = at + 4
end
saveClock()
redis.call('SET', KEYS[4], struct.pack('>dddd', epoch, began, last, notTaken), 'EX', ${MARK_SECONDS})
local dropped = trim(2 + 2 * buried, retention, limit)
return {code, notTaken, dropped, clockText(), table.concat(outcomes), entry, marked, unpack(withoutRoom)}`;

/**
 * Merges sets and deletes of some maps. Keys: tombstones, order, clock, mark of the lane, expiring maps,
 * for each map its hash and its expiry times, then the marks of publishers. Arguments: epoch; first
 * number of the section; version at which the synchronisation began, or eight zeros; retention of a
 * tombstone, in seconds; limit for their number; the result of compareChanges for the first event, and
 * the SHA-1 of the entry that it was compared with, or an empty string; the member's number for the
 * clock; the number of publishers; the names of the maps; for each publisher the number of keys that
 * may wait; then for each event the key, the header and the value (stored-value.ts), of a delete only
 * its origin, if it is kept; and numbers: version, maker, operation, policy, the map from 1 on, the
 * event's number, the expiry time or 0, and that of the time to live or 0; the publishers that forward
 * it follow, a byte for each, counted from 1.
 *
 * Returns a code; the section's entries that were not taken; the number of tombstones that were
 * dropped early; the clock; a byte for each event that was looked at: its outcome, or 0 if it had been
 * merged before; with EQUAL_VERSIONS the entry; 1 if any key was marked, otherwise 0; then for each
 * publisher the number of changes without room. With LATER_EPOCH and NUMBERS_PASSED only the recorded
 * number follows the code.
 */
export const MERGE = script(MERGE_SOURCE, 5, 9);
/** MERGE for deletes only, which a server without memory also executes. */
export const MERGE_DELETES = script(`#!lua flags=allow-oom${MERGE_SOURCE}`, 5, 9);

/**
 * Clears a map in the partition, in steps: removes entries that are not later than the clear. Keys:
 * tombstones, order, clock, hash. Arguments: map; version; origin, which may be empty; the number of the
 * version if it is later than that of every entry, unless the clock has passed it, otherwise 0; the
 * cursor and the server's run that the last step has returned, at first 0 and an empty string. Returns
 * the next cursor, 0 at the end, the run, the outcome, and the clock.
 */
export const CLEAR_MAP = script(
  `#!lua flags=allow-oom${VERSIONS}${tombstoneFunctions(1)}${CLOCK_FUNCTIONS}
local field = #ARGV[1] .. ':' .. ARGV[1]
local high, low = struct.unpack('>I4I4', ARGV[2])
local heldHigh, heldLow, letter = tombstone(field)
local isBegun = high == heldHigh and low == heldLow
if isBegun and letter == 'c' then return {'0', '', ${KNOWN}, clockText()} end
if isAfter(heldHigh, heldLow, high, low) then return {'0', '', ${OUTDATED}, clockText()} end
local run = string.match(redis.call('INFO', 'server'), 'run_id:(${'%w'.repeat(RUN_DIGITS)})') or ''
local cursor = isBegun and ARGV[6] == run and ARGV[5] or '0'
if not isBegun then bury(field, ARGV[2], 'C', ARGV[3]) end
local isLatest = clock < tonumber(ARGV[4])
raise(high, low)
saveClock()
local count, bytes = 0, 0
if isLatest then redis.call('UNLINK', KEYS[4]) else
repeat
  local scanned = redis.call('HSCAN', KEYS[4], cursor, 'COUNT', ${SCANNED_COUNT})
  cursor = scanned[1]
  for at = 1, #scanned[2], 2 do
    local key, value = scanned[2][at], scanned[2][at + 1]
    count, bytes = count + 1, bytes + #key + #value
    if #value >= 9 then
      local entryHigh, entryLow = struct.unpack('>I4I4', value, 2)
      if not isAfter(entryHigh, entryLow, high, low) then redis.call('HDEL', KEYS[4], key) end
    end
  end
until cursor == '0' or count >= ${CLEARED_MAX} or bytes >= ${CLEARED_BYTES_MAX}
end
if cursor == '0' then
  redis.call('HSET', KEYS[1], field, ARGV[2] .. struct.pack('>I4', seconds) .. 'c' .. ARGV[3])
end
return {cursor, run, ${APPLIED}, clockText()}`,
  4,
  6,
);

/**
 * Drops tombstones, but for those of marked keys, of marked clears and of clears under way: the limit is
 * for the others. Keys: tombstones, order, clears under way, the marks of all publishers. Arguments:
 * number of steps, retention and limit as above. Returns the number of tombstones that were dropped
 * early, and that of removed elements of the order.
 */
export const TRIM_TOMBSTONES = script(
  `#!lua flags=allow-oom${tombstoneFunctions(1)}
local waiting = 0
for at = 4, #KEYS do waiting = waiting + redis.call('ZCARD', KEYS[at]) end
local function isKept(field)
  for at = 4, #KEYS do
    if redis.call('ZSCORE', KEYS[at], field) then return true end
  end
  local nameAt = string.find(field, ':', 1, true) + 1
  if #field - nameAt + 1 > tonumber(string.sub(field, 1, nameAt - 2)) then return false end
  return redis.call('HGET', KEYS[3], string.sub(field, nameAt))
end
return {trim(tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]) + waiting, isKept)}`,
  3,
  3,
);

export const MERGE_SCRIPTS = [MERGE, MERGE_DELETES, CLEAR_MAP, TRIM_TOMBSTONES].map(
  ({ source }) => source,
);
