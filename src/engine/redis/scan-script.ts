/**
 * The script that lists entries of a map in one partition, and its positions.
 *
 * It reads the hash with HSCAN, whose cursors remain right while the hash grows, shrinks or changes
 * its encoding, but only within one run of a server: the order of a hash table depends on a seed
 * that each process chooses. So a position has the server's run, and on another server, after a
 * failover or a move of the slot, the hash is listed from its beginning again. Elements are then
 * listed twice, which the contract permits, but none is left out.
 *
 * The elements that one HSCAN returns are listed together, unless they are too many for a call. Such
 * a batch is sorted by the SHA-1 of the keys and cut, in one of two ways:
 *
 * - The batch is the whole hash. Then the position is a hash, and all entries with hashes up to it
 *   have been listed. This is right whatever is added or removed meanwhile. If the hash has become a
 *   table since, it is listed from its beginning again.
 * - The batch is a bucket of a table. When the list continues, a batch at the same cursor may contain
 *   other elements, because the table was resized. Then the position is the number of the elements
 *   that have been listed, and the SHA-1 of their hashes. If the first elements of the new batch have
 *   another one, the batch is listed from its beginning again. The first HSCAN of a call therefore
 *   always has the same COUNT.
 *
 * Two keys of a whole hash whose hashes are equal are not separated by a hash, so such a batch is cut
 * as a bucket is.
 *
 * HSCAN returns keys with their values in all supported versions, so the script copies values that
 * it does not list. Batches are small at first and grow with what the elements before had, so that a
 * call reads little more than its limits and one batch. Tested by scanned-entries.spec.ts.
 */
import { LISTED_ELEMENT_BYTES } from '../engine.ts';
import { HEAD_LENGTH } from './map-scripts.ts';
import { script } from './scripts.ts';

/** Digits of a hash, and of the name of a run. */
export const HASH_DIGITS = 16;
const RUN_DIGITS = 8;
/** Limit for the number of listed elements in a position; a greater one is repeated in part. */
const PASSED_MAX = 65_535;

/**
 * Lists entries. Keys: hash. Arguments: prefix of the keys; the position: cursor, run, number of
 * elements, hash; the number of entries, and the bytes of their keys and values, after which the call
 * ends; the same for all elements that it looks at; '1' if it passes an entry that has more bytes,
 * otherwise it ends before such an entry; the length from which on values are left out, less 1. Returns
 * 1 at the end of the hash, otherwise 0, and 2 more if elements may be listed again that were listed
 * before the position; the next position; the number of elements that it has looked at; then for each
 * entry the key, the stored value and, if only the head of the value is returned, its length.
 */
export const LIST_ENTRIES = script(
  `${HEAD_LENGTH}
local prefix, cursor, passed, hash = ARGV[1], ARGV[2], tonumber(ARGV[4]), ARGV[5]
local count, bytes = tonumber(ARGV[6]), tonumber(ARGV[7])
local lookedMax, lookedBytesMax = tonumber(ARGV[8]), tonumber(ARGV[9])
local listed, size, looked, lookedBytes, again, own = 0, 0, 0, 0, 0, nil
local reply = {0, '', '', 0, '', 0}
local valueMax = tonumber(ARGV[11])
local function sizeOf(element)
  return #element.key + #element.value + ${LISTED_ELEMENT_BYTES}
end
local function run()
  own = own or string.match(redis.call('INFO', 'server'), 'run_id:(${'%w'.repeat(RUN_DIGITS)})')
  return own
end
local function scan(from, elements)
  local scanned = redis.call('HSCAN', KEYS[1], from, 'COUNT', elements)
  local found, sum = {}, 0
  for at = 1, #scanned[2], 2 do
    local key, value, length = scanned[2][at], scanned[2][at + 1], nil
    lookedBytes = lookedBytes + #key + #value
    if string.sub(key, 1, #prefix) == prefix then
      if #value > valueMax then
        local head = headLength(value)
        if #value - head > valueMax then
          length = #value
          value = string.sub(value, 1, head)
        end
      end
      sum = sum + #key + #value + ${LISTED_ELEMENT_BYTES}
      found[#found + 1] = {key = key, value = value, length = length}
    end
  end
  looked = looked + math.max(elements, #scanned[2] / 2)
  return scanned[1], found, sum
end
local function pass(element)
  reply[#reply + 1] = element.key
  reply[#reply + 1] = element.value
  if element.length then reply[#reply + 1] = element.length end
  listed = listed + 1
  size = size + sizeOf(element)
end
local function sort(found)
  for _, element in ipairs(found) do
    element.hash = string.sub(redis.sha1hex(element.key), 1, ${HASH_DIGITS})
  end
  table.sort(found, function(a, b)
    if a.hash == b.hash then return a.key < b.key end
    return a.hash < b.hash
  end)
end
local function hashOf(found, last)
  local hashes = {}
  for at = 1, last do hashes[at] = redis.sha1hex(found[at].key) end
  return string.sub(redis.sha1hex(table.concat(hashes)), 1, ${HASH_DIGITS})
end
local function fits(found, sum)
  return listed + #found <= count and size + sum <= bytes
end
local function stop(at, elements, digits)
  reply[2], reply[4], reply[5], reply[6] = at, elements, digits, looked
  if at ~= '0' then reply[3] = run() end
  reply[1] = reply[1] + again
  return reply
end
if cursor ~= '0' and ARGV[3] ~= run() then cursor, passed, hash, again = '0', 0, '', 2 end
local after, found, sum = scan(cursor, 1)
local isWhole = cursor == '0' and after == '0'
local skipped = 0
if passed > 0 then
  sort(found)
  if passed <= #found and hashOf(found, passed) == hash then skipped = passed else again = 2 end
elseif isWhole and hash ~= '' then
  sort(found)
  while skipped < #found and found[skipped + 1].hash <= hash do skipped = skipped + 1 end
elseif hash ~= '' then
  again = 2
end
for at = 1, skipped do sum = sum - sizeOf(found[at]) end
if #found - skipped > count or sum > bytes then
  if not found[1].hash then sort(found) end
  local last = skipped
  while last < #found and listed < count and size < bytes do
    local element = found[last + 1]
    if ARGV[10] == '0' and size + sizeOf(element) > bytes then break end
    pass(element)
    last = last + 1
  end
  if last < #found then
    if last == skipped then return stop(cursor, passed, hash) end
    if isWhole and found[last].hash < found[last + 1].hash then
      return stop(cursor, 0, found[last].hash)
    end
    last = math.min(last, ${PASSED_MAX})
    return stop(cursor, last, hashOf(found, last))
  end
else
  for at = skipped + 1, #found do pass(found[at]) end
end
local elements = 1
while after ~= '0' and listed < count and size < bytes do
  if looked >= lookedMax or lookedBytes >= lookedBytesMax then break end
  local room = math.min(
    (count - listed) / math.max(listed, 1),
    (bytes - size) / math.max(size, 1),
    (lookedMax - looked) / looked,
    (lookedBytesMax - lookedBytes) / math.max(lookedBytes, 1))
  elements = math.max(1, math.floor(math.min(2 * elements, looked * room)))
  local next
  next, found, sum = scan(after, elements)
  if not fits(found, sum) then break end
  for _, element in ipairs(found) do pass(element) end
  after = next
end
if after == '0' then reply[1] = 1 end
return stop(after, 0, '')`,
  1,
  11,
);
