/**
 * Functions of the scripts that keep tombstones and versions; layout.ts describes the keys. A version is
 * compared as two numbers, its high and its low word, because Lua compares strings by locale.
 * Tested by redis-merges.spec.ts.
 */

/** Elements of the order beyond twice the number of tombstones, most of which were replaced. */
const REPLACED_MAX = 64;

/** Functions on versions. */
export const VERSIONS = `
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
 * Functions on tombstones. The keys from the index `at` on: tombstones, order. `trim` does some steps:
 * it removes what has been replaced, what is older than the retention, in seconds, and what exceeds the
 * limit, unless `isKept` returns true for its field. It returns how many live tombstones it has removed
 * before their retention ended, and how many elements of the order. The tombstone of a clear that is not
 * done is not removed early. If most elements of the order have been replaced, live ones at its front
 * move to its end, so that it does not grow; so do those that are kept.
 */
export function tombstoneFunctions(at: number): string {
  return `
local seconds = tonumber(redis.call('TIME')[1])
local function tombstone(field)
  local held = redis.call('HGET', KEYS[${at}], field)
  if not held then return 0, 0, '' end
  local high, low = struct.unpack('>I4I4', held)
  return high, low, string.sub(held, 13, 13)
end
local function bury(field, version, letter, origin)
  redis.call('HSET', KEYS[${at}], field, version .. struct.pack('>I4', seconds) .. letter .. origin)
  redis.call('RPUSH', KEYS[${at + 1}], version .. field)
end
local function trim(steps, retention, limit, isKept)
  local dropped, removed = 0, 0
  for step = 1, steps do
    local item = redis.call('LINDEX', KEYS[${at + 1}], 0)
    if not item then break end
    local field = string.sub(item, 9)
    local held = redis.call('HGET', KEYS[${at}], field)
    local count = redis.call('HLEN', KEYS[${at}])
    if not held or string.sub(held, 1, 8) ~= string.sub(item, 1, 8) then
      redis.call('LPOP', KEYS[${at + 1}])
      removed = removed + 1
    else
      local isOld = struct.unpack('>I4', held, 9) + retention <= seconds
      local isSurplus = count > limit
      local isDone = string.sub(held, 13, 13) ~= 'C'
      if (isOld or isSurplus and isDone) and not (isKept and isKept(field)) then
        redis.call('LPOP', KEYS[${at + 1}])
        redis.call('HDEL', KEYS[${at}], field)
        removed = removed + 1
        if not isOld then dropped = dropped + 1 end
      elseif isOld or isSurplus or redis.call('LLEN', KEYS[${at + 1}]) > 2 * count + ${REPLACED_MAX} then
        redis.call('LPOP', KEYS[${at + 1}])
        redis.call('RPUSH', KEYS[${at + 1}], item)
      else break end
    end
  end
  return dropped, removed
end
`;
}

/**
 * A function that leaves the tombstone of an expired entry, just below its version, unless there is a
 * later one. Uses the functions above, and those of HEAD_LENGTH. Returns the version of the tombstone.
 */
export const BURY_EXPIRED = `
local function buryExpired(field, value, keyHigh, keyLow)
  local high, low = struct.unpack('>I4I4', value, 2)
  high, low = before(high, low)
  if not isAfter(high, low, keyHigh, keyLow) then return keyHigh, keyLow end
  bury(field, packed(high, low), 'e', originIn(value))
  return high, low
end
`;
