-- The requests that wrk sends, in batches of DEPTH, and the line of figures that generator.ts
-- reads. LOAD_REQUESTS has a line for each kind, "TIMES METHOD BODY-BYTES TARGET"; the kinds are
-- sent in this order, repeatedly. BODY-BYTES is -1 for no body, and {key} in a target is the next
-- key, twelve digits. All batches are built before the start: building requests during the run
-- would use the generator's time, and so delay the server.

local depth, key_count = tonumber(os.getenv("LOAD_DEPTH")), tonumber(os.getenv("LOAD_KEYS"))
-- A prime, so that successive requests have distant keys.
local stride = 7919
local batch_count_min = 256
-- Whether the server ends the connection after each request.
local closes = os.getenv("LOAD_CLOSES") == "true"
-- Limit of the requested keys, which is more than any cache has room for.
local keys_asked_max = 262144
local batches, at = {}, 0

-- The texts before and after the key, by place in the round.
local function read_kinds()
  local kinds = {}
  for line in os.getenv("LOAD_REQUESTS"):gmatch("[^\n]+") do
    local times, method, bytes, target = line:match("^(%d+) (%S+) (%S+) (.+)$")
    local body = tonumber(bytes) >= 0 and ("x"):rep(tonumber(bytes)) or nil
    local headers = { ["Content-Type"] = body and "text/plain", ["Connection"] = closes and "close" or nil }
    local text = wrk.format(method, target, headers, body)
    local from, to = text:find("{key}", 1, true)
    local kind = from and { text:sub(1, from - 1), text:sub(to + 1) } or { text }
    for _ = 1, tonumber(times) do kinds[#kinds + 1] = kind end
  end
  return kinds
end

function init()
  local kinds = read_kinds()
  local count = math.max(batch_count_min, math.min(key_count, keys_asked_max) / depth)
  for batch = 1, count do
    local requests = {}
    for place = 1, depth do
      local index = (batch - 1) * depth + place
      local kind = kinds[index % #kinds + 1]
      local key = kind[2] and ("%012d"):format(index * stride % key_count) .. kind[2] or ""
      requests[place] = kind[1] .. key
    end
    batches[batch] = table.concat(requests)
  end
end

function request()
  at = at % #batches + 1
  return batches[at]
end

-- Requests, microseconds, three latencies in microseconds, answers later than two seconds, and the
-- failures: to connect, to read, to write, with a status of 400 and more.
function done(summary, latency)
  local errors = summary.errors
  io.write(string.format("FIGURES %d %d %d %d %d %d %d %d %d %d\n", summary.requests,
    summary.duration, latency:percentile(50), latency:percentile(99), latency:percentile(99.9),
    errors.timeout, errors.connect, errors.read, errors.write, errors.status))
end
