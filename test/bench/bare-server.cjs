// What Node can do at best: the baselines of the benchmark, each with nothing but what its comparison needs. CommonJS, as
// the program inside of connbook: the loader of ES modules takes 15 MiB.
const { createServer } = require('node:http')

/** As connbook has it, so that the answers are the same bytes. */
const KEEP_ALIVE_TIMEOUT_MS = 75_000
/** Node adds these by itself. */
const OWN_FIELDS = ['Connection', 'Keep-Alive']

const [port = '0', mode = '', ...rest] = process.argv.slice(2)
process.on('SIGTERM', () => process.exit())
const server = createServer({ keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS }, createAnswerer())
server.listen(Number(port), '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  console.error(JSON.stringify({ event: 'listening', url: `http://127.0.0.1:${port}` }))
})

function createAnswerer() {
  const [first = '', second = '', third = ''] = rest
  if (mode === 'answer') return answerAlways(Number(first), second, third)
  if (mode === 'commit') return commitInGroups(first)
  if (mode === 'streams') return writeToStreams(answerAlways(Number(first), second, third))
  throw new Error(`Unknown mode "${mode}"; use answer, commit or streams`)
}

/**
 * Answers every request with the same status, header fields and bytes.
 *
 * @param {number} status
 * @param {string} fieldsJson
 * @param {string} body
 * @returns {import('node:http').RequestListener}
 */
function answerAlways(status, fieldsJson, body) {
  /** @type {[string, string][]} */
  const fields = JSON.parse(fieldsJson)
  const headers = Object.fromEntries(fields.filter(([name]) => !OWN_FIELDS.includes(name)))
  return (_request, response) => {
    response.writeHead(status, headers)
    response.end(body)
  }
}

/**
 * Keeps the answers to `GET /v1/events` open, and writes the body of every POST to each of them.
 *
 * @param {import('node:http').RequestListener} answerOthers
 * @returns {import('node:http').RequestListener}
 */
function writeToStreams(answerOthers) {
  /** @type {Set<import('node:http').ServerResponse>} */
  const streams = new Set()
  return (request, response) => {
    if (request.method === 'POST') {
      /** @type {Buffer[]} */
      const chunks = []
      request.on('data', (chunk) => chunks.push(chunk))
      request.on('end', () => {
        const piece = Buffer.concat(chunks)
        for (const stream of streams) stream.write(piece)
        response.writeHead(204)
        response.end()
      })
    } else if (request.url === '/v1/events') {
      // What is posted has connbook's framing already; the end of the connection is the end of the stream.
      response.useChunkedEncodingByDefault = false
      response.writeHead(200, { 'Content-Type': 'text/event-stream', Connection: 'close' })
      response.write('retry: 2000\n\n')
      streams.add(response)
      response.on('close', () => streams.delete(response))
    } else answerOthers(request, response)
  }
}

/**
 * Appends every request's body to a file and answers once an `fdatasync` has covered it; arrivals share the next.
 *
 * @param {string} path
 * @returns {import('node:http').RequestListener}
 */
function commitInGroups(path) {
  // Required late: only this mode needs it.
  const opening = require('node:fs/promises').open(path, 'a')
  /** @type {{ body: Buffer, response: import('node:http').ServerResponse }[]} */
  let waiting = []
  let isBusy = false
  const commit = async () => {
    isBusy = true
    const file = await opening
    while (waiting.length > 0) {
      const batch = waiting
      waiting = []
      await file.write(Buffer.concat(batch.map(({ body }) => body)))
      await file.datasync()
      for (const { body, response } of batch) {
        response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': body.length })
        response.end(body)
      }
    }
    isBusy = false
  }
  return (request, response) => {
    /** @type {Buffer[]} */
    const chunks = []
    request.on('data', (chunk) => chunks.push(chunk))
    request.on('end', () => {
      waiting.push({ body: Buffer.concat(chunks), response })
      if (!isBusy) void commit()
    })
  }
}
