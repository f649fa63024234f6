import { request as requestOverHttp } from 'node:http'
import { isIP, isIPv6 } from 'node:net'
import { resolve } from 'node:path'
import { defineCommand } from '../command-line/command.ts'
import type { Options } from '../command-line/options.ts'
import { OutputError } from '../command-line/output.ts'
import { ConnbookError, UsageError } from '../errors.ts'
import { HEALTHCHECK_TIMEOUT_MS } from '../limits.ts'
import { isLoopback } from '../service/plain-http.ts'

const paths = { ready: '/readyz', live: '/healthz' } as const

/** No server answered, or one that is not well. */
export class UnhealthyError extends ConnbookError {
  readonly code = 'unhealthy'
}

/** What is asked, and of whom. */
interface Question {
  readonly url: URL
  /** Where to connect to, because a URL cannot carry the zone of an IPv6 address, nor the path of a Unix socket. */
  readonly place: { readonly hostname: string } | { readonly socketPath: string }
  /** Whether its certificate has to be one that this machine trusts. */
  readonly isVerified: boolean
}

/**
 * Asks a server, by default the one that the same flags and variables would start, whether it takes requests, or with
 * `--live` only whether it runs. Returns when the answer is 200.
 *
 * A certificate is verified only where the URL leads to another machine: nothing secret is sent, and a new certificate
 * may be in the file before it is in force.
 */
export const healthcheckCommand = defineCommand({
  name: 'healthcheck',
  operands: '[URL]',
  summary: 'ask a server whether it is ready, for containers',
  examples: [
    ['connbook healthcheck', 'the server of this host'],
    ['connbook healthcheck --port 80 --live', ''],
    ['connbook healthcheck http://localhost:8080', ''],
    ['HEALTHCHECK CMD ["/connbook", "healthcheck"]', 'in a Dockerfile'],
  ],
  notes: [
    'It waits 3 s at most. A certificate is verified only where a URL leads to another machine: what is asked is no secret.',
  ],
  // Those that tell where a server listens; the key is taken along because the certificate does not go without.
  flags: ['port', 'host', 'listen', 'basePath', 'tlsCert', 'tlsKey', 'live'],
  exitCodes: { 0: 'it answers with 200', 1: 'it answers otherwise, or not at all' },
  async run({ options, operands: [address] }, { print }) {
    const line = await askHealth(address, options)
    await print(`${line}\n`).catch((cause: unknown) => {
      throw new OutputError(`Cannot show the answer; ${line}`, { cause })
    })
  },
})

type Place = Pick<Options, 'port' | 'host' | 'listen' | 'basePath' | 'tlsCert' | 'live'>

/**
 * Asks a server for its health.
 *
 * @param address Its URL; undefined for the server that `options` would start.
 * @returns The answer in words, when it is 200.
 * @throws {UsageError} if it cannot tell where to ask.
 * @throws {UnhealthyError} for another answer, or none within `timeoutMs`.
 */
export async function askHealth(
  address: string | undefined,
  options: Place,
  timeoutMs = HEALTHCHECK_TIMEOUT_MS,
): Promise<string> {
  const question = address === undefined ? ofOptions(options) : ofAddress(address, options)
  const status = await ask(question, timeoutMs)
  const line = `${nameOf(question)} answers ${status}`
  if (status !== 200) throw new UnhealthyError(`Not ${options.live ? 'alive' : 'ready'}: ${line}`)
  return line
}

function ofOptions({ port, host = '127.0.0.1', listen, basePath, tlsCert, live }: Place): Question {
  const origin = tlsCert === undefined ? 'http://' : 'https://'
  const path = `${basePath}${live ? paths.live : paths.ready}`
  if (listen !== undefined) {
    const place = { socketPath: resolve(listen) }
    return { url: new URL(`${origin}localhost${path}`), place, isVerified: false }
  }
  if (port === 0) throw new UsageError('Cannot ask on port 0; give the --port that the server has got')
  // Who listens on every address also listens on the loopback.
  const reachable = host === '0.0.0.0' ? '127.0.0.1' : host === '::' ? '::1' : host
  const name = isIPv6(reachable) ? `[${reachable.split('%')[0]}]` : reachable
  return {
    url: new URL(`${origin}${name}:${port}${path}`),
    place: { hostname: reachable },
    isVerified: false,
  }
}

function ofAddress(address: string, { live }: Place): Question {
  const url = URL.parse(address)
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new UsageError(`Cannot ask "${address}": it must be a URL such as http://localhost:8080`)
  }
  if (!Object.values<string>(paths).some((path) => url.pathname.endsWith(path))) {
    url.pathname = `${url.pathname.replace(/\/$/, '')}${live ? paths.live : paths.ready}`
  }
  const hostname = url.hostname.replace(/^\[|\]$/g, '')
  const isOfThisMachine = hostname === 'localhost' || (isIP(hostname) !== 0 && isLoopback(hostname))
  return { url, place: { hostname }, isVerified: !isOfThisMachine }
}

function nameOf({ url, place }: Question): string {
  return 'socketPath' in place ? `${url.href} on ${place.socketPath}` : url.href
}

/** The status of the answer. */
async function ask(question: Question, timeoutMs: number): Promise<number | undefined> {
  const { url, place, isVerified } = question
  const request = url.protocol === 'https:' ? process.getBuiltinModule('node:https').request : requestOverHttp
  const options = {
    ...place,
    headers: { Host: url.host },
    agent: false,
    rejectUnauthorized: isVerified,
    signal: AbortSignal.timeout(timeoutMs),
  }
  const { promise, resolve: answer, reject } = Promise.withResolvers<number | undefined>()
  request(url, options, (response) => {
    answer(response.statusCode)
    response.destroy()
  })
    .on('error', reject)
    .end()
  return promise.catch((cause: unknown) => {
    throw new UnhealthyError(`No answer from ${nameOf(question)}: ${reasonOf(cause, timeoutMs)}`, { cause })
  })
}

function reasonOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return String(error)
  if (error.name === 'AbortError') return `none within ${timeoutMs / 1000} s`
  // Of several addresses that were tried, each has an error of its own.
  const [first] = error instanceof AggregateError ? error.errors : [error]
  // Behind a semicolon Node advises how to start it otherwise.
  return first instanceof Error ? first.message.replace(/; .*/s, '') : String(first)
}
