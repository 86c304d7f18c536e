/**
 * The scripts that merge changes of other clusters into a partition, by the rules of
 * StoredEngine.merge (../stored-engine.ts). layout.ts describes the keys that they use. A version is
 * compared as two numbers, its high and its low word, because Lua compares strings by locale.
 *
 * A map without a replication reference keeps the tombstones of merged removals only: its own
 * clients' deletes leave none. An expired entry that a merge finds leaves one just below its version.
 *
 * Tested by redis-merges.spec.ts.
 */
import { APPLIED, KNOWN, OUTDATED } from '../engine.ts';
import { LATEST_UPDATE, PASS_THROUGH, PUT_IF_ABSENT } from '../merge-policy.ts';
import { DELETE } from '../mutation.ts';
import { HEAD_LENGTH, SHARED } from './map-scripts.ts';
import { script } from './scripts.ts';

/** Lifetime of a mark, in seconds: a duplicate arrives earlier. */
const MARK_SECONDS = 86_400;
/** Elements of the order beyond twice the number of tombstones, most of which were replaced. */
const REPLACED_MAX = 64;
/** Elements that the next step of HSCAN returns, as values may be long. */
const SCANNED_COUNT = 4;
/** Limits for the entries that one step of a clear looks at, and for their bytes. */
const CLEARED_MAX = 512;
const CLEARED_BYTES_MAX = 1_048_576;
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

/** Functions on versions. */
const VERSIONS = `
local function isAfter(high, low, otherHigh, otherLow)
  if high == otherHigh then return low > otherLow end
  return high > otherHigh
end
local function packed(high, low)
  return struct.pack('>I4I4', high, low)
end
local function after(high, low)
  if low == 4294967295 then return high + 1, 0 end
  return high, low + 1
end
local function before(high, low)
  if low == 0 then return high - 1, 4294967295 end
  return high, low - 1
end
`;

/**
 * Functions on tombstones. Keys: tombstones, order. `trim` does some steps: it removes what has been
 * replaced, what is older than the retention, in seconds, and what exceeds the limit, and returns how
 * many live tombstones it has removed before their retention ended. If most elements of the order have
 * been replaced, live ones at its front move to its end, so that it does not grow.
 */
const TOMBSTONE_FUNCTIONS = `
local seconds = tonumber(redis.call('TIME')[1])
local function tombstone(field)
  local held = redis.call('HGET', KEYS[1], field)
  if not held then return 0, 0, '' end
  local high, low = struct.unpack('>I4I4', held)
  return high, low, string.sub(held, 13)
end
local function bury(field, version, letter)
  redis.call('HSET', KEYS[1], field, version .. struct.pack('>I4', seconds) .. letter)
  redis.call('RPUSH', KEYS[2], version .. field)
end
local function trim(steps, retention, limit)
  local dropped = 0
  for step = 1, steps do
    local item = redis.call('LINDEX', KEYS[2], 0)
    if not item then break end
    local field = string.sub(item, 9)
    local held = redis.call('HGET', KEYS[1], field)
    local count = redis.call('HLEN', KEYS[1])
    if not held or string.sub(held, 1, 8) ~= string.sub(item, 1, 8) then
      redis.call('LPOP', KEYS[2])
    else
      local isOld = struct.unpack('>I4', held, 9) + retention <= seconds
      if isOld or count > limit then
        redis.call('LPOP', KEYS[2])
        redis.call('HDEL', KEYS[1], field)
        if not isOld then dropped = dropped + 1 end
      elseif redis.call('LLEN', KEYS[2]) > 2 * count + ${REPLACED_MAX} then
        redis.call('LPOP', KEYS[2])
        redis.call('RPUSH', KEYS[2], item)
      else break end
    end
  end
  return dropped
end
`;

/**
 * Functions on the clock. Key 3: clock. `raise` moves it past a version: partition-clock.ts describes
 * the number of a version. `clockText` returns it as digits.
 */
const CLOCK_FUNCTIONS = `
local clock = tonumber(redis.call('GET', KEYS[3]) or '0')
local latest = clock
local function raise(high, low)
  local ms = high * 65536 + math.floor(low / 65536)
  latest = math.max(latest, ms * 1000 + math.floor(low % 65536 * 1000 / 65536))
end
local function clockText()
  return string.format('%.0f', latest)
end
`;

const MERGE_SOURCE = `${SHARED}${HEAD_LENGTH}${VERSIONS}${TOMBSTONE_FUNCTIONS}${CLOCK_FUNCTIONS}
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
local function isSame(held, head, value)
  if math.floor(string.byte(head, 1) / 8) % 2 == 0 then return held == head .. value end
  local stable = string.sub(head, 1, 9) .. string.sub(head, 16)
  return string.sub(held, 1, 9) .. string.sub(held, 16) == stable .. value
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
local lastEpoch, first, last, notTaken = 0, 0, 0, 0
local mark = redis.call('GET', KEYS[4])
if mark then lastEpoch, first, last, notTaken = struct.unpack('>dddd', mark) end
if epoch < lastEpoch then return {${LATER_EPOCH}, lastEpoch} end
if epoch > lastEpoch then first, last, notTaken = 0, 0, 0 end
if began < first then return {${NUMBERS_PASSED}, first} end
if began > first then notTaken = 0 end
local code, entry, buried, outcomes, ofMaps = ${MERGED}, '', 0, {}, {}
local hasTombstones = redis.call('HLEN', KEYS[1]) > 0
local start = 8 + (#KEYS - 5) / 2
local at = start
while at <= #ARGV do
  local key, head, value = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local high, low, maker, operation, policy, map, number, ends, expiry =
    struct.unpack('>I4I4c4BBHddd', ARGV[at + 3])
  local outcome = 0
  if number > last then
    local hash, name = KEYS[4 + 2 * map], ARGV[7 + map]
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
        local goneHigh, goneLow = before(heldHigh, heldLow)
        if isAfter(goneHigh, goneLow, keyHigh, keyLow) then
          bury(prefix .. key, packed(goneHigh, goneLow), 'e')
          hasTombstones, buried, keyHigh, keyLow = true, buried + 1, goneHigh, goneLow
        end
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
        bury(prefix .. key, packed(high, low), 'd')
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
          local flags = string.char(16 + string.byte(head, 1) % 16)
          head = flags .. packed(nextHigh, nextLow) .. string.sub(head, 10, originAt(head))
        end
        redis.call('HSET', hash, key, head .. value)
        if ends > 0 then
          redis.call('ZADD', KEYS[5 + 2 * map], ends, key)
          redis.call('ZADD', KEYS[5], 'LT', ends, name)
        end
      end
    end
    raise(high, low)
    if outcome == ${OUTDATED} and syncHigh + syncLow > 0 then notTaken = notTaken + 1 end
    last = number
  end
  outcomes[#outcomes + 1] = string.char(outcome)
  at = at + 4
end
if latest > clock then redis.call('SET', KEYS[3], clockText()) end
redis.call('SET', KEYS[4], struct.pack('>dddd', epoch, began, last, notTaken), 'EX', ${MARK_SECONDS})
local dropped = trim(2 + 2 * buried, retention, limit)
return {code, notTaken, dropped, clockText(), table.concat(outcomes), entry}`;

/**
 * Merges sets and deletes of some maps. Keys: tombstones, order, clock, mark, expiring maps, then for
 * each map its hash and its expiry times. Arguments: epoch; first number of the section; version at
 * which the synchronisation began, or eight zeros; retention of a tombstone, in seconds; limit for
 * their number; the result of compareChanges for the first event, and the SHA-1 of the entry that it
 * was compared with, or an empty string; the names of the maps; then for each event the key, the
 * header and the value (stored-value.ts), and numbers: version, maker, operation, policy, the map
 * from 1 on, the event's number, the expiry time or 0, and that of the time to live or 0.
 *
 * Returns a code; the section's entries that were not taken; the number of tombstones that were
 * dropped early; the clock; a byte for each event that was looked at: its outcome, or 0 if it had been
 * merged before; and with EQUAL_VERSIONS the entry. With LATER_EPOCH and NUMBERS_PASSED only the
 * recorded number follows the code.
 */
export const MERGE = script(MERGE_SOURCE, 5, 7);
/** MERGE for deletes only, which a server without memory also executes. */
export const MERGE_DELETES = script(`#!lua flags=allow-oom${MERGE_SOURCE}`, 5, 7);

/**
 * Merges a clear, in steps: removes entries that are not later. Keys: tombstones, order, clock, hash.
 * Arguments: map; version; retention and limit as above; the cursor and the server's run that the last
 * step has returned, at first 0 and an empty string. Returns the next cursor, 0 at the end, the run,
 * the outcome, the number of tombstones dropped early, and the clock.
 */
export const MERGE_CLEAR = script(
  `#!lua flags=allow-oom${VERSIONS}${TOMBSTONE_FUNCTIONS}${CLOCK_FUNCTIONS}
local field = #ARGV[1] .. ':' .. ARGV[1]
local high, low = struct.unpack('>I4I4', ARGV[2])
local heldHigh, heldLow, letter = tombstone(field)
local isBegun = high == heldHigh and low == heldLow
if isBegun and letter == 'c' then return {'0', '', ${KNOWN}, 0, clockText()} end
if isAfter(heldHigh, heldLow, high, low) then return {'0', '', ${OUTDATED}, 0, clockText()} end
local run = string.match(redis.call('INFO', 'server'), 'run_id:(${'%w'.repeat(RUN_DIGITS)})') or ''
local cursor = isBegun and ARGV[6] == run and ARGV[5] or '0'
if not isBegun then bury(field, ARGV[2], 'C') end
raise(high, low)
if latest > clock then redis.call('SET', KEYS[3], clockText()) end
local count, bytes = 0, 0
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
if cursor == '0' then
  redis.call('HSET', KEYS[1], field, ARGV[2] .. struct.pack('>I4', seconds) .. 'c')
end
local dropped = trim(4, tonumber(ARGV[3]), tonumber(ARGV[4]))
return {cursor, run, ${APPLIED}, dropped, clockText()}`,
  4,
  6,
);

/**
 * Drops tombstones. Keys: tombstones, order. Arguments: number of steps, retention and limit as above.
 * Returns the number of tombstones that were dropped early.
 */
export const TRIM_TOMBSTONES = script(
  `#!lua flags=allow-oom${TOMBSTONE_FUNCTIONS}
return trim(tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3]))`,
  2,
  3,
);

export const MERGE_SCRIPTS = [MERGE, MERGE_DELETES, MERGE_CLEAR, TRIM_TOMBSTONES].map(
  ({ source }) => source,
);
