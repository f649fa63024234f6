-- A load of load.ts. Arguments: method, expected status, a number that no other run has, body (empty for none), and the
-- paths to ask for in turn. Twelve # in the body become digits that no other request has. The last line of the output
-- is what was measured, as JSON.

local UNIQUE_DIGITS = string.rep("#", 12)
local threads = {}

function setup(thread)
  table.insert(threads, thread)
end

function init(args)
  local method, status, run, body = args[1], args[2], args[3], args[4]
  expected_status = tonumber(status)
  id_format = run .. "%08d"
  wrk.method = method
  if body ~= "" then wrk.body = body end
  is_unique = body:find(UNIQUE_DIGITS, 1, true) ~= nil
  requests = {}
  for i = 5, #args do table.insert(requests, wrk.format(nil, args[i])) end
  sent, unexpected, unexpected_status = 0, 0, 0
end

function request()
  sent = sent + 1
  local text = requests[sent % #requests + 1]
  if is_unique then return (text:gsub(UNIQUE_DIGITS, id_format:format(sent))) end
  return text
end

function response(status)
  if status == expected_status then return end
  unexpected, unexpected_status = unexpected + 1, status
end

function done(summary, latency)
  local errors = summary.errors
  local fields = {
    requests = summary.requests,
    microseconds = summary.duration,
    failures = errors.connect + errors.read + errors.write + errors.timeout,
    unexpected = threads[1]:get("unexpected"),
    unexpectedStatus = threads[1]:get("unexpected_status"),
    p50 = latency:percentile(50),
    p99 = latency:percentile(99),
    cpuMicroseconds = os.clock() * 1e6,
  }
  local members = {}
  for name, value in pairs(fields) do table.insert(members, ('"%s":%d'):format(name, value)) end
  print("{" .. table.concat(members, ",") .. "}")
end
