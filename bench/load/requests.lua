-- The requests that wrk sends, batches of DEPTH at a time, over the keys k0 to k(KEYS-1) of the map
-- "bench"; and the line of figures that generator.ts reads. All batches are made before the start:
-- making requests while it runs would take the generator's time, and so the server's.

local method, depth = os.getenv("LOAD_METHOD"), tonumber(os.getenv("LOAD_DEPTH"))
local keys, value_bytes = tonumber(os.getenv("LOAD_KEYS")), tonumber(os.getenv("LOAD_VALUE_BYTES"))
local path = os.getenv("LOAD_PATH")
-- A prime, so that neighbours in time are no neighbours in name.
local stride = 7919
local batch_count = 256
local batches, at = {}, 0

local function one(index)
  local target = path .. "k" .. (index * stride % keys)
  if method == "GET" then return wrk.format("GET", target) end
  return wrk.format(method, target, { ["Content-Type"] = "text/plain" }, ("x"):rep(value_bytes))
end

function init()
  for batch = 1, batch_count do
    local requests = {}
    for index = 1, depth do requests[index] = one(batch * depth + index) end
    batches[batch] = table.concat(requests)
  end
end

function request()
  at = at % batch_count + 1
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
